import { describe, expect, test } from 'vitest';

import { StateModule } from '../state/state-module.ts';
import { tool } from './tool/tool.ts';
import { isSuspended } from './call/tool-call-outcome.ts';
import { Toolkit } from './toolkit.ts';

const call = (name: string) => ({ type: 'tool_use', id: name, name, input: {} }) as const;

describe('a subset of a toolkit', () => {
  test('has the tools that were named, always active, and knows no groups', async () => {
    const toolkit = new Toolkit({ tools: [tool({ name: 'a', execute: () => 'a' })] });
    toolkit.createToolGroup('g', { description: 'g' });
    toolkit.registerToolFunction({ name: 'b', group: 'g', execute: () => 'b' });
    const subset = toolkit.subset(['b', 'missing']);
    expect([toolkit.names, subset.names, subset.activeGroups]).toEqual([['a', 'b'], ['b'], []]);
    expect(await subset.callToolFunction(call('b'))).toMatchObject({ output: 'b' });
    expect(await subset.callToolFunction(call('a'))).toMatchObject({ status: 'unavailable' });
    expect(await toolkit.callToolFunction(call('b'))).toMatchObject({ status: 'unavailable' });
  });

  test('shares the limit of a tool: both together run no more calls at once than one', async () => {
    let running = 0;
    let most = 0;
    const slow = tool({
      name: 'slow',
      maxConcurrent: 2,
      async execute() {
        most = Math.max(most, ++running);
        for (let n = 0; n < 5; n++) await undefined;
        running--;
      },
    });
    const toolkit = new Toolkit({ tools: [slow] });
    const subsets = [toolkit, toolkit.subset(['slow']), toolkit.subset(['slow'])];
    await Promise.all(subsets.flatMap((one) => [1, 2, 3].map(() => one.callToolFunction(call('slow')))));
    expect([most, running]).toEqual([2, 0]);
  });

  test('can have changed tools, which share the limit all the same', async () => {
    let running = 0;
    let most = 0;
    const slow = (name: string) =>
      tool({
        name,
        maxConcurrent: 1,
        async execute() {
          most = Math.max(most, ++running);
          for (let n = 0; n < 5; n++) await undefined;
          running--;
          return name;
        },
      });
    const toolkit = new Toolkit({ tools: [slow('slow')] });
    const subset = toolkit.subset(['slow'], {
      adapt: (one) => ({ ...one, execute: slow('other').execute }),
    });
    const results = await Promise.all([toolkit, subset].map((one) => one.callToolFunction(call('slow'))));
    expect([most, results.map(({ output }) => output)]).toEqual([1, ['slow', 'other']]);
  });

  test('goes through the middleware of now, and nothing that is done to one shows in the other', async () => {
    const toolkit = new Toolkit({ tools: [tool({ name: 'a', execute: () => 'a' })] });
    toolkit.registerMiddleware(async (_call, next) => {
      const result = await next();
      return isSuspended(result) ? result : `1 ${String(result.status)}`;
    });
    const subset = toolkit.subset(['a']);
    toolkit.registerMiddleware(() => 'later');
    subset.registerMiddleware(() => 'inner');
    subset.registerToolFunction({ name: 'c', execute: () => 'c' });
    subset.removeToolFunction('a');
    expect(toolkit.names).toEqual(['a']);
    expect(await toolkit.callToolFunction(call('a'))).toMatchObject({ output: '1 ok' });
    expect(await subset.callToolFunction(call('c'))).toMatchObject({ output: '1 ok' });
  });

  test('leaves the states of modules where they are', () => {
    class Agent extends StateModule {
      mood = 'fine';

      constructor() {
        super();
        this.registerState('mood');
      }
    }
    const toolkit = new Toolkit({ tools: [tool({ name: 'a', module: new Agent(), execute: () => 'a' })] });
    expect(toolkit.stateDict()).toMatchObject({ modules: { a: { mood: 'fine' } } });
    expect(toolkit.subset(['a']).stateDict()).toMatchObject({ modules: {} });
    expect(JSON.stringify(toolkit.subset(['a']).stateDict())).not.toContain('fine');
  });
});
