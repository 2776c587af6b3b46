import { TroupeError } from 'troupe';
import { expect, test } from 'vitest';

import { ServiceFailure } from '../service-failure.ts';
import { answerWith } from './mounted-request.ts';

test('only a missing package is told as one; other failures go on, to be logged', async () => {
  const failWith = (error: Error): Promise<unknown> =>
    answerWith('some-package', () => Promise.reject(error)).catch((thrown: unknown) => thrown);
  const missing = { code: 'not_available', message: expect.stringContaining('some-package') };
  expect(await failWith(new TroupeError('invalid_config', 'A2A needs a package.'))).toMatchObject(missing);
  const notFound = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  expect(await failWith(notFound)).toMatchObject(missing);
  const others = [
    new Error('a bug'),
    new TroupeError('store_failed', 'away'),
    new ServiceFailure('not_found', ''),
  ];
  for (const error of others) expect(await failWith(error)).toBe(error);
});
