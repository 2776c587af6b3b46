import { expect, test, vi } from 'vitest';

import * as browser from './platform.browser.ts';
import * as node from './platform.node.ts';

test('both platforms offer the same', () => {
  const shapeOf = (platform: object): string[] =>
    Object.entries(platform)
      .map(([name, value]) => `${name}: ${typeof value}`)
      .sort();
  expect(shapeOf(browser)).toEqual(shapeOf(node));
  expect(Object.keys(node)).toContain('openTerminal');
});

test('a browser has no terminal and no Ctrl-C', async () => {
  const handler = vi.fn<() => void>();
  const stop = browser.onInterruptKey(handler);
  expect(stop()).toBeUndefined();
  expect(browser.exitProgram(130)).toBeUndefined();
  expect(handler).not.toHaveBeenCalled();
  await expect(browser.openTerminal(new AbortController().signal)).rejects.toThrow(
    'There is no terminal here. Give the UserAgent an input method of your own.',
  );
});
