// Outputs that a document shows of its programs. A fence `text printed` is what the program before it prints, run as the
// `sh` fences in between say: `node agent.ts yes` runs it with the argument `yes`. Without such a line it runs once.

import type { Fence } from './markdown.ts';

/** The output of a program, as a document shows it. */
export interface PrintedOutput {
  /** Line of the program's fence. */
  readonly program: number;
  /** Line of the fence with the output. */
  readonly line: number;
  /** Arguments of each run of the program, one run after the other in one folder. */
  readonly runs: readonly (readonly string[])[];
  readonly text: string;
}

const PROGRAMS = new Set(['ts', 'typescript', 'js', 'javascript', 'mjs']);
const COMMAND = /^node \S+\.(?:ts|js|mjs)(?: (.*))?$/;
const ARGUMENT = /'([^']*)'|"([^"]*)"|([^\s'"]+)/g;

/** The outputs in a document, with their mistakes. */
export function printedOutputs(fences: readonly Fence[]): { outputs: PrintedOutput[]; problems: string[] } {
  const outputs: PrintedOutput[] = [];
  const problems: string[] = [];
  let program: number | undefined;
  let runs: string[][] = [];
  for (const { line, language, flags, code } of fences) {
    if (PROGRAMS.has(language)) {
      program = flags.includes('no-run') ? undefined : line;
      runs = [];
    } else if (language === 'sh') runs.push(...code.split('\n').flatMap(argumentsOf));
    else if (flags.includes('printed')) {
      if (program === undefined) problems.push(`${line}: there is no program before this output that runs`);
      else outputs.push({ program, line, runs: runs.length === 0 ? [[]] : runs, text: code });
      program = undefined;
    }
  }
  return { outputs, problems };
}

/** The arguments in a line that runs a program: a list with one list, or nothing. */
function argumentsOf(line: string): string[][] {
  const [found, text = ''] = COMMAND.exec(line.trim()) ?? [];
  if (found === undefined) return [];
  return [Array.from(text.matchAll(ARGUMENT), ([, single, double, bare]) => single ?? double ?? bare ?? '')];
}
