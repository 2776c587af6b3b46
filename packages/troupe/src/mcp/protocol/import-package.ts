import { TroupeError } from '../../errors.ts';

/**
 * Loads a module that needs an optional package.
 * @throws TroupeError with the command that installs the package.
 */
export async function importPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const problem = `MCP needs the package ${name}, which could not be loaded. Run: npm install ${name}`;
    throw new TroupeError('invalid_config', problem, { cause: error });
  }
}
