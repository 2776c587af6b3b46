import { TroupeError } from '../../errors.ts';

/**
 * Loads a module that needs the optional package.
 * @throws TroupeError with the command that installs the package.
 */
export async function loadSdk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const problem =
      'A2A needs the package @a2a-js/sdk, which could not be loaded. Run: npm install @a2a-js/sdk';
    throw new TroupeError('invalid_config', problem, { cause: error });
  }
}
