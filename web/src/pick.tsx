// Choosing one of a few names.
export function Pick({ label, value, names, none, onPick }: {
  label: string; value: string; names: string[]; none?: string; onPick: (name: string) => void;
}) {
  return (
    <label class="pick">{label}{" "}
      <select value={value} onChange={(e) => onPick(e.currentTarget.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {names.map((name) => <option key={name} value={name}>{name}</option>)}
      </select>
    </label>
  );
}
