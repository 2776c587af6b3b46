import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Confinement } from 'troupe/kernel';
import { shellTool } from 'troupe/tools';

import { fastest, row } from './measure.ts';

/** Start-up cost of a confined command against a plain spawn of a shell. */
export async function measureConfinement(): Promise<void> {
  const cwd = mkdtempSync(join(tmpdir(), 'troupe-bench-'));
  const tool = shellTool({ cwd });
  const input = { command: 'true' };
  const call = { type: 'tool_use', id: 'c1', name: tool.name, input } as const;
  const { signal } = new AbortController();
  const limits = { profile: 'default', folders: [] } as const;
  const problem = await tool.checkConfinement?.(input, limits);
  if (problem !== undefined) return console.log(`a confined command: ${problem}`);
  const run = async (confinement: Confinement): Promise<unknown> =>
    tool.execute(input, {
      signal,
      emit: () => {},
      call,
      context: undefined,
      agentName: undefined,
      confinement,
    });
  const floor = await fastest(30, () => once(spawn('/bin/sh', ['-c', 'true'], { stdio: 'ignore' }), 'exit'));
  row('a confined command', await fastest(30, () => run(limits)), floor, 'ms');
  const edits = { profile: 'accept_edits', folders: [cwd] } as const;
  row('a confined command that may edit', await fastest(30, () => run(edits)), floor, 'ms');
  rmSync(cwd, { recursive: true });
}
