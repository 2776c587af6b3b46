import { createRequire } from 'node:module';

import { TroupeError } from '../../errors.ts';

const PACKAGE = 'quickjs-emscripten';

/** Path of the package, resolved from `from`. @throws TroupeError with the install command. */
export function findQuickJs(from: string): string {
  try {
    return createRequire(from).resolve(PACKAGE);
  } catch (cause) {
    throw new TroupeError(
      'invalid_config',
      `The JavaScript tool needs the package ${PACKAGE}, which is not installed. Run: npm install ${PACKAGE}`,
      { cause },
    );
  }
}
