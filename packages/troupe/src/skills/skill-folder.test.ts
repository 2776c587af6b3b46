import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, test, vi } from 'vitest';

import { SkillFolder } from './skill-folder.ts';

/** Callback right before a folder is opened. */
const system = vi.hoisted(() => ({ before: async (_path: string): Promise<void> => {} }));
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof fs>();
  const opendir = async (path: string): Promise<unknown> => {
    await system.before(path);
    return real.opendir(path);
  };
  return { ...real, opendir };
});

test('a folder that becomes a link between the look and the listing is not listed', async () => {
  const root = await fs.realpath(await fs.mkdtemp(join(tmpdir(), 'troupe-skill-')));
  await fs.mkdir(join(root, 'pdf', 'sub'), { recursive: true });
  await fs.writeFile(join(root, 'pdf', 'SKILL.md'), '');
  await fs.writeFile(join(root, 'pdf', 'sub', 'a.md'), '');
  await fs.mkdir(join(root, 'outside'));
  await fs.writeFile(join(root, 'outside', 'secret.md'), '');
  const folder = await SkillFolder.open(join(root, 'pdf'), 1000);
  expect(await folder.list()).toEqual(['SKILL.md', 'sub/a.md']);
  let swaps = 0;
  system.before = async (path) => {
    if (!path.endsWith('sub')) return;
    swaps++;
    await fs.rename(path, join(root, 'was'));
    await fs.symlink(join(root, 'outside'), path);
  };
  expect(await folder.list()).toEqual(['SKILL.md']);
  expect(swaps).toBe(1);
  await fs.rm(root, { recursive: true });
});
