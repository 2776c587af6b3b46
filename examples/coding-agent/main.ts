// A coding agent that is confined to a folder: it looks around, finds a bug, fixes it, and tries to leave the
// folder, which is refused. The files are in a real folder, but the agent only knows paths below /workspace/.
// The model is a ScriptedModel.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { findHistoryFaults, ReActAgent, Toolkit, type JsonObject } from 'troupe';
import { FileSystemHandle } from 'troupe/filesystem';
import { DiskFileSystem } from 'troupe/stores/disk';
import { ScriptedModel } from 'troupe/testing';
import { fileTools } from 'troupe/tools';

const folder = await mkdtemp(join(tmpdir(), 'coding-agent-'));
const project = join(folder, 'project');
await mkdir(join(project, 'src'), { recursive: true });
await mkdir(join(project, '.git'));
await writeFile(
  join(project, 'src', 'area.ts'),
  'export function area(w: number, h: number): number {\n  return w + h;\n}\n',
);
await writeFile(join(project, '.git', 'config'), '[core]\n');
await writeFile(join(folder, 'password.txt'), 'xyzzy');
await symlink(join(folder, 'password.txt'), join(project, 'notes.txt')); // a trap: a link to outside

try {
  const files = await DiskFileSystem.open({ folders: { workspace: project } });
  const handle = new FileSystemHandle(files, {
    // the longest matching path wins
    grants: ['/workspace/', { path: '/workspace/.git/', operations: ['list', 'read'] }],
  });
  const toolkit = new Toolkit({ tools: fileTools(handle) });

  const call = (name: string, input: JsonObject) => ({ toolCalls: [{ name, input }] });
  const model = new ScriptedModel([
    call('glob', { pattern: '**/*.ts' }),
    call('grep', { pattern: 'return .*;', include: '*.ts' }),
    call('read_text_file', { path: '/workspace/src/area.ts', with_line_numbers: true }),
    // wrong text
    call('edit_file', { path: '/workspace/src/area.ts', edits: [{ oldText: 'w - h', newText: 'w * h' }] }),
    call('edit_file', { path: '/workspace/src/area.ts', edits: [{ oldText: 'w + h', newText: 'w * h' }] }),
    call('read_text_file', { path: '/workspace/../password.txt' }),
    call('read_text_file', { path: '/workspace/notes.txt' }),
    call('write_file', { path: '/workspace/.git/config', content: '[alias]' }),
    call('list_directory', { path: '/etc' }),
    'area() multiplies now. The rest was none of my business.',
  ]);
  const agent = new ReActAgent({
    name: 'coder',
    sysPrompt: `You fix bugs. This is what you may do with files:\n${handle.describe()}`,
    model,
    toolkit,
    console: false,
  });

  const answer = await agent.call('area(2, 3) should be 6, but it is 5.');
  const memory = await agent.memory.getMemory();
  const results = memory.flatMap((msg) => msg.getContentBlocks('tool_result'));
  for (const { name, status, output } of results)
    console.log(`${name} -> ${status}\n  ${JSON.stringify(output)}`);
  console.log(`\ncoder: ${answer.text}`);

  assert.deepEqual(
    results.map(({ status }) => status),
    ['ok', 'ok', 'ok', 'error', 'ok', 'error', 'error', 'error', 'error'],
  );
  assert.equal(results[0]?.output, '/workspace/src/area.ts');
  assert.match(await readFile(join(project, 'src', 'area.ts'), 'utf8'), /return w \* h;/);
  assert.equal(await readFile(join(project, '.git', 'config'), 'utf8'), '[core]\n');
  assert.ok(!JSON.stringify(model.requests).includes('xyzzy')); // the model has seen nothing of the password
  assert.ok(!JSON.stringify(model.requests).includes(folder)); // nor the real path of the files
  assert.deepEqual(findHistoryFaults(memory), []);
} finally {
  await rm(folder, { recursive: true });
}
