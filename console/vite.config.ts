import { defineConfig } from 'vite';

/** Where `npm run dev:console` sends requests of the API: a service that `npm start` has started. */
const API = 'http://127.0.0.1:3000';
const proxied = ['/v1', '/previews', '/uploads', '/openapi.json'];

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  // The server replaces it with the nonce of each response, see src/roles/console.
  html: { cspNonce: '__NONCE__' },
  build: {
    target: 'es2023',
    outDir: 'dist',
    emptyOutDir: true,
    manifest: true,
    license: { fileName: 'licences.md' },
    // The policy allows no `data:` fonts, and a chunk of its own is cached by its own name.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // Packages mark client components for servers that render React; the console has none.
      onLog(level, log, handle) {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
  server: {
    // The service takes changes with a cookie only from its own origin.
    proxy: Object.fromEntries(
      proxied.map((path) => [path, { target: API, changeOrigin: true, headers: { origin: API } }]),
    ),
  },
});
