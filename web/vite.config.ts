import { defineConfig } from "vite";

// No inline scripts or styles, which the page's Content-Security-Policy forbids, and no data: fonts.
export default defineConfig({
  base: "/",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: { target: "es2021", modulePreload: false, assetsInlineLimit: 0, cssCodeSplit: false },
});
