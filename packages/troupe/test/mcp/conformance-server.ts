// For the tests: the server that the official conformance suite expects, over HTTP. Prints its address.

import { McpServer, mcpRequestOf, type McpToolRequest } from '../../src/mcp/index.ts';
import { Msg } from '../../src/message/msg.ts';
import { tool, type ToolContext } from '../../src/toolkit/tool/tool.ts';
import { Toolkit } from '../../src/toolkit/toolkit.ts';
import { fromBase64, toBase64 } from '../../src/util/base64.ts';
import { sleep } from '../../src/util/clock.ts';
import type { JsonObject } from '../../src/util/json.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';
const image = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: PNG } } as const;
const audio = { type: 'audio', source: { type: 'base64', mediaType: 'audio/wav', data: WAV } } as const;

function file(filename: string, mediaType: string, text: string) {
  const data = toBase64(new TextEncoder().encode(text));
  return { type: 'file', filename, source: { type: 'base64', mediaType, data } } as const;
}

function client(context: ToolContext): McpToolRequest {
  const request = mcpRequestOf(context);
  if (request === undefined) throw new Error('The tool call did not come over MCP.');
  return request;
}

function text(name: string): JsonObject {
  return { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] };
}

async function elicit(context: ToolContext, message: string, properties: JsonObject): Promise<string> {
  const said = await client(context).elicit({ message, schema: { type: 'object', properties } });
  const content = said.action === 'accept' ? said.content : {};
  return `Elicitation completed: action=${said.action}, content=${JSON.stringify(content)}`;
}

const one = ['option1', 'option2', 'option3'];
const titled = [1, 2, 3].map((n) => ({ const: `value${n}`, title: `Option ${n}` }));

const tools = [
  tool({ name: 'test_simple_text', execute: () => 'This is a simple text response for testing.' }),
  tool({ name: 'test_image_content', execute: () => [image] }),
  tool({ name: 'test_audio_content', execute: () => [audio] }),
  tool({
    name: 'test_embedded_resource',
    execute: () => [file('embedded.txt', 'text/plain', 'This is an embedded resource content.')],
  }),
  tool({
    name: 'test_multiple_content_types',
    execute: () => [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      file('mixed.json', 'application/json', '{"test":"data","value":123}'),
    ],
  }),
  tool({
    name: 'test_error_handling',
    execute: () => {
      throw new Error('This tool intentionally returns an error for testing');
    },
  }),
  tool({
    name: 'test_tool_with_logging',
    async execute(_, context) {
      for (const step of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await client(context).log('info', step);
        await sleep(50);
      }
      return 'Logged three times.';
    },
  }),
  tool({
    name: 'test_tool_with_progress',
    async execute(_, context) {
      for (const done of [0, 50, 100]) {
        await client(context).progress(done, 100);
        await sleep(50);
      }
      return 'Done.';
    },
  }),
  tool({
    name: 'test_sampling',
    schema: text('prompt'),
    async execute({ prompt }, context) {
      const answer = await client(context).sample({ messages: String(prompt), maxTokens: 100 });
      return `LLM response: ${answer.text}`;
    },
  }),
  tool({
    name: 'test_elicitation',
    schema: text('message'),
    execute: ({ message }, context) =>
      elicit(context, String(message), { username: { type: 'string' }, email: { type: 'string' } }),
  }),
  tool({
    name: 'test_elicitation_sep1034_defaults',
    execute: (_, context) =>
      elicit(context, 'Please check the defaults.', {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      }),
  }),
  tool({
    name: 'test_elicitation_sep1330_enums',
    execute: (_, context) =>
      elicit(context, 'Please choose.', {
        untitledSingle: { type: 'string', enum: one },
        titledSingle: { type: 'string', oneOf: titled },
        legacyEnum: { type: 'string', enum: one, enumNames: ['One', 'Two', 'Three'] },
        untitledMulti: { type: 'array', items: { type: 'string', enum: one } },
        titledMulti: { type: 'array', items: { anyOf: titled } },
      }),
  }),
  tool({
    name: 'test_reconnection',
    async execute(_, context) {
      await sleep(50);
      client(context).releaseConnection();
      await sleep(100);
      return 'Reconnection test completed successfully.';
    },
  }),
  tool({
    name: 'json_schema_2020_12_tool',
    description: 'Tool with JSON Schema 2020-12 features',
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
      additionalProperties: false,
    },
    execute: () => 'Done.',
  }),
].map((made) => ({ description: `The tool ${made.name} of the suite.`, ...made }));

const server = new McpServer(new Toolkit({ tools }), {
  name: 'conformance',
  resources: [
    {
      uri: 'test://static-text',
      name: 'text',
      description: 'Text.',
      mimeType: 'text/plain',
      read: () => 'This is the content of the static text resource.',
    },
    {
      uri: 'test://static-binary',
      name: 'binary',
      description: 'Bytes.',
      mimeType: 'image/png',
      read: () => fromBase64(PNG),
    },
    { uri: 'test://watched-resource', name: 'watched', description: 'Changes.', read: () => 'Watch me.' },
  ],
  resourceTemplates: [
    {
      uriTemplate: 'test://template/{id}/data',
      name: 'data',
      description: 'Data by id.',
      mimeType: 'application/json',
      read: (_, { id = '' }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    },
  ],
  prompts: [
    {
      name: 'test_simple_prompt',
      description: 'Simple.',
      get: () => 'This is a simple prompt for testing.',
    },
    {
      name: 'test_prompt_with_arguments',
      description: 'With arguments.',
      arguments: [
        {
          name: 'arg1',
          description: 'First test argument',
          required: true,
          complete: () => ['paris', 'park'],
        },
        { name: 'arg2', description: 'Second test argument', required: true },
      ],
      get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
    },
    {
      name: 'test_prompt_with_embedded_resource',
      description: 'With a resource.',
      arguments: [{ name: 'resourceUri', description: 'Address of the resource', required: true }],
      get: () => [
        Msg.user([file('resource.txt', 'text/plain', 'Embedded resource content for testing.')]),
        Msg.user('Please process the embedded resource above.'),
      ],
    },
    {
      name: 'test_prompt_with_image',
      description: 'With an image.',
      get: () => [Msg.user([image]), Msg.user('Please analyze the image above.')],
    },
  ],
});
console.log(await server.listen());
