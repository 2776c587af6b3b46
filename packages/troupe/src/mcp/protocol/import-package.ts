import { TroupeError } from '../../errors.ts';

/** Loads a part of ours that needs an optional package. @throws TroupeError that says how to get it. */
export async function importPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const problem = `MCP needs the package ${name}, which could not be loaded. Run: npm install ${name}`;
    throw new TroupeError('invalid_config', problem, { cause: error });
  }
}
