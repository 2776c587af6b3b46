import { createRequire } from 'node:module';

import { TroupeError } from '../../errors.ts';

const PACKAGE = 'quickjs-emscripten';

/** Where the package is, as seen from there. @throws TroupeError that says how to get it. */
export function findQuickJs(from: string): string {
  try {
    return createRequire(from).resolve(PACKAGE);
  } catch (cause) {
    throw new TroupeError(
      'invalid_config',
      `JavaScript is run by the package ${PACKAGE}, which could not be found. Run: npm install ${PACKAGE}`,
      { cause },
    );
  }
}
