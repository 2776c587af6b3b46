// Builds the page into packages/studio/dist/page. Everything is bundled; nothing is inline, so that a strict content security policy holds.

import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  resolve: { conditions: ['troupe:source', 'module', 'browser'] },
  build: {
    outDir: '../dist/page',
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    chunkSizeWarningLimit: 800,
    // Libraries mark files for servers of React; a bundle for the browser has no use for the marks.
    rolldownOptions: {
      onLog: (level, log, handle) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
});
