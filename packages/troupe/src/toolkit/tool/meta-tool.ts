import { copyJsonObject, type JsonObject } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';
import type { ToolGroup, ToolGroupTable } from '../tool-group-table.ts';
import type { Tool } from './tool.ts';
import { escapeTags, tagPattern } from '../../util/escape-tags.ts';

export const META_TOOL_NAME = 'reset_equipped_tools';

const DESCRIPTION =
  'Chooses the tool groups that you can use from now on. Name every group that you need: the others are deactivated.';

/**
 * Makes the tool with which a model chooses its tool groups. The schema is checked before execution, so a
 * tool call with an unknown group or a non-boolean changes nothing.
 */
export function metaToolOf(groups: ToolGroupTable): Tool<JsonObject> {
  let latest: { readonly of: readonly ToolGroup[]; readonly schema: JsonSchema } | undefined;
  const current = (): JsonSchema => {
    if (latest?.of !== groups.all) latest = { of: groups.all, schema: schemaOf(groups.all) };
    return latest.schema;
  };
  return Object.freeze({
    name: META_TOOL_NAME,
    description: DESCRIPTION,
    schema: { current },
    readOnly: true,
    execute(input: JsonObject) {
      groups.activateOnly(Object.keys(input).filter((name) => input[name] === true));
      return answerOf(groups.active);
    },
  });
}

function schemaOf(groups: readonly ToolGroup[]): JsonSchema {
  const properties = groups.map(({ name, description }) => [
    name,
    { type: 'boolean', description, default: false },
  ]);
  const schema = { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false };
  return copyJsonObject(schema, 'the schema of the tool groups');
}

const NOTES = tagPattern('notes');

function answerOf(active: readonly ToolGroup[]): string {
  if (active.length === 0) return 'All tool groups are deactivated now.';
  const names = active.map(({ name }) => `'${name}'`).join(', ');
  const notes = active.flatMap(({ name, notes }) =>
    notes === undefined ? [] : [`## About Tool Group '${name}'\n${notes}`],
  );
  const answer = `These tool groups are active now, and no others: ${names}.`;
  if (notes.length === 0) return answer;
  return `${answer} Mind the notes on how to use them.\n<notes>\n${escapeTags(notes.join('\n\n'), NOTES)}\n</notes>`;
}
