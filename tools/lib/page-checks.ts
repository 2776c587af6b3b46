// Compares pages of the docs with what they list: codes of refusals, entry points, and the examples of the most used exports.

/** Compares the codes that the service refuses with, and their statuses, with the table of the page about errors. */
export function refusalProblems(source: string, page: string): string[] {
  const table = /FAILURE_STATUS = \{([^}]*)\}/.exec(source)?.[1] ?? '';
  const inCode = [...table.matchAll(/(\w+): (\d+)/g)].map(([, code, status]) => `\`${code}\` | ${status}`);
  const inPage = [...page.matchAll(/^\| (`\w+` \| \d+) \|/gm)].map(([, row = '']) => row);
  if (inCode.length === 0) return ['docs/errors.md: the codes of the service are not found in its source'];
  return differences(inCode, inPage).map((row) => `docs/errors.md: a refusal is missing, or unknown: ${row}`);
}

/** Compares the subpath exports of the package, and the other packages, with the page about entry points. */
export function entryPointProblems(
  { name, exports }: { readonly name: string; readonly exports: Readonly<Record<string, unknown>> },
  otherPackages: readonly string[],
  page: string,
): string[] {
  const subpaths = Object.keys(exports).filter((path) => path !== './package.json');
  const entries = [...subpaths.map((path) => `${name}${path.slice(1)}`), ...otherPackages];
  const firstCells = [...page.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = '']) => cell);
  const inPage = firstCells.flatMap((cell) =>
    [...cell.matchAll(/`([^`]*)`/g)].map(([, entry = '']) => entry),
  );
  return differences(entries, [...new Set(inPage)]).map(
    (entry) => `docs/reference/entry-points.md: an entry is missing, or unknown: ${entry}`,
  );
}

/**
 * Finds classes and functions that many programs of the docs import, and whose doc comment has no `@example`.
 * @param least number of programs from which on an export needs an example
 */
export function missingExamples(
  programs: readonly string[],
  sources: readonly string[],
  least: number,
): string[] {
  const counts = new Map<string, number>();
  for (const program of programs)
    for (const [, names = ''] of program.matchAll(/import \{([^}]*)\} from '@?troupe/g))
      for (const name of names.split(',').map((one) => one.trim()))
        if (/^\w+$/.test(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const used = [...counts].filter(([, count]) => count >= least).map(([name]) => name);
  return used.filter((name) => {
    const declaration = new RegExp(
      String.raw`(/\*\*(?:(?!\*/)[\s\S])*\*/\s*)?export (?:abstract )?(?:class|(?:async )?function) ${name}\b`,
    );
    const found = sources.map((source) => declaration.exec(source)).find((match) => match !== null);
    return found !== undefined && !found[1]?.includes('@example');
  });
}

function differences(a: readonly string[], b: readonly string[]): string[] {
  return [...a.filter((one) => !b.includes(one)), ...b.filter((one) => !a.includes(one))];
}
