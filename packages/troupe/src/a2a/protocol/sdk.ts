import type * as Client from '@a2a-js/sdk/client';
import type * as Legacy from '@a2a-js/sdk/compat/v0_3/client';
import type * as Core from '@a2a-js/sdk';
import type * as Errors from '@a2a-js/sdk/errors';
import type * as Server from '@a2a-js/sdk/server';

import { TroupeError } from '../../errors.ts';

// Parts of the optional package. Bundlers accept an import that they can't resolve only as `await import()` in
// `try`, so no other module of this folder imports values of the package. Set by the functions below, which run
// before any module that uses these is loaded.
export let a2aSdk: typeof Core;
export let a2aErrors: typeof Errors;
export let a2aClient: typeof Client;
export let a2aLegacy: typeof Legacy;
export let a2aServer: typeof Server;

/** Loads the package for clients. @throws TroupeError with the command that installs the package. */
export async function loadA2AClientSdk(): Promise<void> {
  try {
    a2aSdk = await import('@a2a-js/sdk');
    a2aErrors = await import('@a2a-js/sdk/errors');
    a2aClient = await import('@a2a-js/sdk/client');
    a2aLegacy = await import('@a2a-js/sdk/compat/v0_3/client');
  } catch (error) {
    throw missing(error);
  }
}

/** Loads the package for servers. @throws TroupeError with the command that installs the package. */
export async function loadA2AServerSdk(): Promise<void> {
  try {
    a2aSdk = await import('@a2a-js/sdk');
    a2aErrors = await import('@a2a-js/sdk/errors');
    a2aServer = await import('@a2a-js/sdk/server');
  } catch (error) {
    throw missing(error);
  }
}

function missing(cause: unknown): TroupeError {
  const problem =
    'A2A needs the package @a2a-js/sdk, which could not be loaded. Run: npm install @a2a-js/sdk';
  return new TroupeError('invalid_config', problem, { cause });
}
