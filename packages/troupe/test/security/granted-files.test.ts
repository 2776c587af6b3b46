// File tools of a host that are granted to a sub-agent: every tool, under every name and in every copy, works on the files of
// the sub-agent alone, or is refused with a reason.
import { expect, test } from 'vitest';

import { fileTools, type FileToolName } from '../../src/file-tools/file-tools.ts';
import { FileSystemHandle } from '../../src/filesystem/file-system-handle.ts';
import { InMemoryFileSystem } from '../../src/filesystem/in-memory-file-system.ts';
import { PermissionRules } from '../../src/permission/permission-rules.ts';
import { ReActAgent } from '../../src/react/react-agent.ts';
import { registerSubAgent } from '../../src/subagent/register-sub-agent.ts';
import { TaskSubAgent } from '../../src/subagent/task-sub-agent.ts';
import { ScriptedModel } from '../../src/testing/scripted-model.ts';
import { BackgroundTools } from '../../src/toolkit/background-tools.ts';
import type { Tool } from '../../src/toolkit/tool/tool.ts';
import type { JsonObject } from '../../src/util/json.ts';

const HOME = '/workspace/subagents/kid';
const [SECRET, NOTE] = ['the-host-alone', 'the-kid-too'];

/** Arguments with which each tool works on a file, or on the folder around it. */
const ARGUMENTS: Record<FileToolName, (folder: string) => JsonObject> = {
  read_text_file: (folder) => ({ path: `${folder}/a.txt` }),
  read_multiple_files: (folder) => ({ paths: [`${folder}/a.txt`] }),
  list_directory: (folder) => ({ path: folder }),
  get_file_info: (folder) => ({ path: `${folder}/a.txt` }),
  list_allowed_directories: () => ({}),
  write_file: (folder) => ({ path: `${folder}/new.txt`, content: 'x' }),
  delete_file: (folder) => ({ path: `${folder}/a.txt` }),
  edit_file: (folder) => ({ path: `${folder}/a.txt`, edits: [{ oldText: 'the', newText: 'x' }] }),
  fs_describe_permissions_markdown: () => ({}),
  insert_text_file: (folder) => ({ path: `${folder}/a.txt`, content: 'x', line_number: 1 }),
  glob: (folder) => ({ pattern: `${folder}/**` }),
  grep: (folder) => ({ pattern: 'alone|too', path: folder }),
  view_text_file: (folder) => ({ path: `${folder}/a.txt` }),
  write_text_file: (folder) => ({ path: `${folder}/new.txt`, content: 'x' }),
};
const NAMES = Object.keys(ARGUMENTS) as FileToolName[];

const COPIES: Readonly<Record<string, (made: Tool) => Tool>> = {
  itself: (made) => made,
  'a renamed copy': (made) => ({ ...made, name: 'renamed' }),
  'a copy without the mark of its files': ({ files: _, ...made }) => made,
  'another tool with its function': ({ schema, execute }) => ({ name: 'other', schema, execute }),
};

async function filesOf(handle: FileSystemHandle): Promise<JsonObject> {
  const { matches } = await handle.glob('/**');
  return Object.fromEntries(
    await Promise.all(matches.map(async (path) => [path, await handle.readText(path)] as const)),
  );
}

async function setUp(): Promise<FileSystemHandle> {
  const filesystem = new FileSystemHandle(new InMemoryFileSystem());
  await filesystem.write('/workspace/private/a.txt', SECRET);
  await filesystem.write(`${HOME}/a.txt`, NOTE);
  return filesystem;
}

async function delegate(granted: Tool, inputs: readonly JsonObject[], filesystem: FileSystemHandle) {
  const toolCalls = inputs.map((input, i) => ({ name: granted.name, id: `c${i}`, input }));
  const kid = new ScriptedModel([{ toolCalls }, 'done']);
  const host = new ReActAgent({
    name: 'boss',
    model: new ScriptedModel([
      { toolCalls: [{ name: 'agent_kid', id: 'd', input: { task: 'x' } }] },
      'Done.',
    ]),
    tools: [granted],
    permissionPolicy: new PermissionRules({ mode: 'bypass' }),
    console: false,
  });
  const spec = { name: 'kid', description: 'k', toolsAllowlist: [granted.name], modelOverride: kid };
  await registerSubAgent(host, TaskSubAgent, spec, { filesystem });
  await host.call('go');
  const results = (kid.requests[1]?.messages ?? []).flatMap((msg) => msg.getContentBlocks('tool_result'));
  return { results, offered: JSON.stringify(kid.requests[0]?.tools) };
}

test.each(NAMES.flatMap((name) => Object.keys(COPIES).map((copy) => [name, copy] as const)))(
  '%s, as %s, reaches the folder of the sub-agent and nothing else',
  async (name, copy) => {
    const filesystem = await setUp();
    const [made] = fileTools(filesystem, { names: [name] });
    const granted = made && COPIES[copy]?.(made);
    if (granted === undefined) throw new Error('there is no tool');
    const outside = ARGUMENTS[name]('/workspace/private');
    const inside = ARGUMENTS[name](HOME);
    const { results, offered } = await delegate(granted, [outside, inside], filesystem);
    const texts = results.map(({ output }) => JSON.stringify(output));
    expect(texts).toHaveLength(2);
    expect(results[1]?.status ?? 'ok').toBe('ok');
    expect([texts.join().includes(SECRET), texts[0]?.includes('private/a.txt"')]).toEqual([false, false]);
    expect(offered).not.toMatch(/in: \/workspace\/[;,."]/);
    const { '/workspace/private/a.txt': secret, ...others } = await filesOf(filesystem);
    expect(secret).toBe(SECRET);
    expect(Object.keys(others).filter((path) => !path.startsWith(HOME))).toEqual([]);
  },
);

test.each(NAMES)('%s in the background is refused with a reason', async (name) => {
  const filesystem = await setUp();
  await using background = new BackgroundTools();
  const [made] = fileTools(filesystem, { names: [name] });
  const granted = made && background.inBackground(made);
  if (granted === undefined) throw new Error('there is no tool');
  for (const copy of [granted, { ...granted, name: 'renamed' }])
    await expect(delegate(copy, [], filesystem)).rejects.toThrow(
      `can't have the tool '${copy.name}': it is bound to files of boss, and its function or schema was replaced.`,
    );
});
