// For the tests: a script of this folder in one file, so that a process is ready to be killed in a tenth of a second.

import { join } from 'node:path';
import { build } from 'vite';

/** Bundles a script. @returns the path of the program @param external packages that are not there */
export async function bundle(
  script: string,
  outDir: string,
  external: readonly string[] = [],
): Promise<string> {
  const entryFileNames = script.replace(/\.ts$/, '.mjs');
  await build({
    configFile: false,
    root: import.meta.dirname,
    logLevel: 'silent',
    ssr: { noExternal: true, resolve: { conditions: ['troupe:source', 'node', 'module'] } },
    build: {
      ssr: true,
      target: 'node22',
      emptyOutDir: false,
      outDir,
      rolldownOptions: {
        input: join(import.meta.dirname, script),
        external: [...external],
        output: { entryFileNames },
      },
    },
  });
  return join(outDir, entryFileNames);
}
