import { expect, test } from 'vitest';

import { isPathOfLaterRun, isToolFolder, runsLater } from './runs-later.ts';

test.each([
  ['hooks and settings of git', '.git .GIT git~1 .gitmodules .husky lefthook.yml .pre-commit-config.yaml'],
  ['settings of editors', '.vscode .idea .zed .helix .devcontainer .nvim.lua .exrc .gitpod.yml'],
  [
    'settings of agents',
    '.claude .cursor .mcp.json .opencode opencode.json .crush.json .aider.conf.yml .roo .openhands .clinerules',
  ],
  [
    'settings of package managers and build tools',
    '.npmrc .yarnrc.yml .pnp.cjs .cargo .mvn .bazelrc .bundle rust-toolchain.toml',
  ],
  ['start files of interpreters', '.Rprofile .irbrc .pryrc .pdbrc .iex.exs .ocamlinit .ghci .octaverc'],
  ['start files of shells', '.bashrc .zshenv .envrc .autoenv mise.toml .inputrc'],
  ['jobs of servers', '.github .gitlab-ci.yml .circleci Jenkinsfile'],
  ['keys of saved approvals', 'approval-key my.db.Approval-Key approval-key.x1.draft'],
  ['packages', 'node_modules pyvenv.cfg sitecustomize.py x.pth'],
])('%s run later', (_, names) => {
  expect(names.split(' ').filter((name) => !runsLater(name))).toEqual([]);
});

test('other files do not', () => {
  const names = 'src package.json README.md Makefile .gitignore .editorconfig a.pthx git .env HEAD';
  expect(names.split(' ').filter(runsLater)).toEqual([]);
});

test('a path has the name below its working directory', () => {
  const folders = ['/w', '/w/.cargo/inner'];
  const paths = [
    '/w/.cargo/config.toml',
    'a/.husky/x',
    '/w//./.git/x',
    '/w/.cargo/inner/a',
    '/w/src/a',
    'a.ts',
  ];
  expect(paths.map((path) => isPathOfLaterRun(path, folders))).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('a folder is a repository or an environment by what is in it', () => {
  const folders = [
    ['HEAD', 'objects', 'refs'],
    ['HEAD', 'commondir'],
    ['pyvenv.cfg'],
    ['HEAD', 'refs'],
    ['config'],
  ];
  expect(folders.map((names) => isToolFolder(new Set(names)))).toEqual([true, true, true, false, false]);
});
