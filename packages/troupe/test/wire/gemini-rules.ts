import { isJsonObject, type JsonObject } from '../../src/util/json.ts';
import { Faults, isLike } from './check.ts';

const NAME = /^[a-zA-Z0-9_.:-]{1,64}$/;
const FUNCTION_NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** Half a character, which JSON writes as an escape. */
const HALF_CHARACTER = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;
const BODY_KEYS = [
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'cachedContent',
];
const CONFIG_KEYS = (
  'maxOutputTokens temperature topP topK stopSequences seed candidateCount presencePenalty frequencyPenalty ' +
  'responseLogprobs logprobs responseModalities responseMimeType responseSchema responseJsonSchema ' +
  'thinkingConfig speechConfig'
).split(' ');
const DATA_KEYS = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
];

/** Faults of a request to a model by the rules of Gemini's `generateContent`. */
export function geminiFaults(body: JsonObject, modelName: string): string[] {
  const faults = new Faults();
  const isNew = /gemini-[3-9]/.test(modelName);
  faults.object(body, 'body', BODY_KEYS);
  faults.must(!HALF_CHARACTER.test(JSON.stringify(body)), 'the body holds half a character');
  checkContents(faults, faults.items(body['contents'], 'contents'), isNew);
  checkSystem(faults, body['systemInstruction']);
  checkTools(faults, body);
  checkConfig(faults, body['generationConfig']);
  return faults.list;
}

interface Content {
  readonly role: unknown;
  readonly parts: readonly JsonObject[];
}

function checkContents(faults: Faults, list: readonly unknown[], isNew: boolean): void {
  faults.must(list.length > 0, 'contents must not be empty');
  const contents = list.map((content, i) => checkContent(faults, content, `contents[${i}]`));
  faults.must(contents[0]?.role === 'user', 'the first content must be a user’s');
  faults.must(contents.at(-1)?.role === 'user', 'requests ending with a model turn are not supported');
  contents.forEach(({ role, parts }, i) => {
    const at = `contents[${i}]`;
    const all = objectsIn(parts, 'functionCall');
    const isAnswered = ({ id, name }: JsonObject): boolean =>
      objectsIn(parts, 'functionResponse').some((one) => one['id'] === id && one['name'] === name);
    const calls = all.filter((call) => !isAnswered(call));
    const results = role === 'user' ? objectsIn(parts, 'functionResponse') : [];
    checkGoogleTools(faults, at, role, parts);
    if (calls.length > 0) {
      faults.must(role === 'model', `${at} has calls, but is no model’s`);
      faults.must(contents[i - 1]?.role === 'user', `${at}: a call must follow on a user’s turn`);
      checkPair(faults, at, calls, objectsIn(contents[i + 1]?.parts ?? [], 'functionResponse'), isNew);
      const first = parts.find((part) => part['functionCall'] === calls[0]);
      faults.must(!isNew || first?.['thoughtSignature'] !== undefined, `${at}: the first call is not signed`);
    }
    if (results.length > 0) {
      faults.must(role === 'user', `${at} has results, but is no user’s`);
      faults.must(results.length === parts.length, `${at} mixes results with other parts`);
      const before = objectsIn(contents[i - 1]?.parts ?? [], 'functionCall');
      faults.must(before.length > 0, `${at}: results must come right behind their calls`);
    }
  });
}

/** Calls that Google runs come with their results, in the model's turn. */
function checkGoogleTools(faults: Faults, at: string, role: unknown, parts: readonly JsonObject[]): void {
  for (const [call, result] of [
    ['executableCode', 'codeExecutionResult'],
    ['toolCall', 'toolResponse'],
  ] as const) {
    const [calls, results] = [objectsIn(parts, call), objectsIn(parts, result)];
    // Code that prints and then fails has two results.
    const isEnough =
      call === 'executableCode' ? results.length >= calls.length : results.length === calls.length;
    faults.must(isEnough && (calls.length > 0 || results.length === 0), `${at}: ${call} without ${result}`);
    faults.must(calls.length === 0 || role === 'model', `${at}: ${call} is the model’s`);
    const idsOf = (list: readonly JsonObject[]): string =>
      JSON.stringify([...new Set(list.map(({ id }) => id))]);
    faults.must(idsOf(calls) === idsOf(results), `${at}: ids of ${result}`);
  }
}

function checkPair(
  faults: Faults,
  at: string,
  calls: readonly JsonObject[],
  results: readonly JsonObject[],
  isNew: boolean,
): void {
  faults.must(calls.length === results.length, `${at}: there must be as many results as calls`);
  calls.forEach((call, i) => {
    faults.must(call['name'] === results[i]?.['name'], `${at}: result ${i} has another name than its call`);
    faults.must(
      call['id'] === results[i]?.['id'],
      `${at}: functionResponse.id does not match functionCall.id`,
    );
    faults.must(isLike(call['id'], isNew ? 'string' : 'undefined'), `${at}: id of call ${i}`);
  });
  if (isNew)
    faults.unique(
      calls.map(({ id }) => id),
      `${at}: the ids of calls`,
    );
}

function checkContent(faults: Faults, content: unknown, at: string): Content {
  if (!faults.object(content, at, ['role', 'parts'])) return { role: undefined, parts: [] };
  const { role } = content;
  faults.must(role === 'user' || role === 'model', `${at}.role is '${String(role)}'`);
  const parts = faults.items(content['parts'], `${at}.parts`);
  faults.must(parts.length > 0, `${at}.parts must not be empty`);
  parts.forEach((part, i) => checkPart(faults, part, `${at}.parts[${i}]`));
  return { role, parts: parts.filter((part) => isJsonObject(part)) };
}

function checkPart(faults: Faults, part: unknown, at: string): void {
  if (!faults.object(part, at, [...DATA_KEYS, 'thought', 'thoughtSignature'])) return;
  const kinds = DATA_KEYS.filter((key) => part[key] !== undefined);
  faults.must(kinds.length === 1, `${at}: required oneof field 'data' must have one initialized field`);
  const { text, inlineData, fileData, functionCall, functionResponse, thoughtSignature } = part;
  if (thoughtSignature !== undefined) faults.text(thoughtSignature, `${at}.thoughtSignature`, BASE64);
  faults.must(isLike(part['thought'], 'boolean', 'undefined'), `${at}.thought must be true or false`);
  if (text !== undefined) faults.text(text, `${at}.text`, thoughtSignature === undefined ? /\S/ : /^/);
  if (inlineData !== undefined && faults.object(inlineData, `${at}.inlineData`, ['mimeType', 'data'])) {
    faults.text(inlineData['mimeType'], `${at}.inlineData.mimeType`, /^[\w.+-]+\/[\w.+-]+/);
    faults.text(inlineData['data'], `${at}.inlineData.data`, BASE64);
  }
  if (fileData !== undefined && faults.object(fileData, `${at}.fileData`, ['mimeType', 'fileUri'])) {
    faults.text(
      fileData['fileUri'],
      `${at}.fileUri`,
      /^https:\/\/(generativelanguage|www\.youtube|youtu\.be)/,
    );
  }
  if (
    functionCall !== undefined &&
    faults.object(functionCall, `${at}.functionCall`, ['id', 'name', 'args'])
  ) {
    faults.text(functionCall['name'], `${at}.functionCall.name`, NAME);
    faults.must(isLike(functionCall['args'], 'object'), `${at}.functionCall.args must be an object`);
  }
  const response = functionResponse;
  if (response === undefined) return;
  if (!faults.object(response, `${at}.functionResponse`, ['id', 'name', 'response'])) return;
  faults.text(response['name'], `${at}.functionResponse.name`, NAME);
  faults.must(isLike(response['response'], 'object'), `${at}.functionResponse.response must be an object`);
}

function checkSystem(faults: Faults, system: unknown): void {
  if (system === undefined || !faults.object(system, 'systemInstruction', ['role', 'parts'])) return;
  const parts = faults.items(system['parts'], 'systemInstruction.parts');
  faults.must(parts.length > 0, 'systemInstruction.parts must not be empty');
  parts.forEach((part, i) => {
    const at = `systemInstruction.parts[${i}]`;
    if (faults.object(part, at, ['text'])) faults.text(part['text'], `${at}.text`);
  });
}

function checkTools(faults: Faults, { tools, toolConfig }: JsonObject): void {
  const names = (tools === undefined ? [] : faults.items(tools, 'tools')).flatMap((tool, i) => {
    const at = `tools[${i}]`;
    const google = ['googleSearch', 'codeExecution', 'urlContext', 'fileSearch', 'mcpServers'];
    if (!faults.object(tool, at, ['functionDeclarations', ...google])) {
      return [];
    }
    if (tool['functionDeclarations'] === undefined) return [];
    const declared = faults.items(tool['functionDeclarations'], `${at}.functionDeclarations`);
    faults.must(declared.length > 0, `${at}.functionDeclarations must not be empty`);
    return declared.map((one, j) => checkFunction(faults, one, `${at}.functionDeclarations[${j}]`));
  });
  faults.unique(names, 'the names of functions');
  if (toolConfig === undefined) return;
  faults.must(names.length > 0, 'toolConfig needs functions');
  if (!faults.object(toolConfig, 'toolConfig', ['functionCallingConfig', 'includeServerSideToolInvocations']))
    return;
  const config = toolConfig['functionCallingConfig'];
  if (config === undefined) return;
  if (!faults.object(config, 'functionCallingConfig', ['mode', 'allowedFunctionNames'])) return;
  faults.text(config['mode'], 'functionCallingConfig.mode', /^(AUTO|ANY|NONE|VALIDATED)$/);
  const allowed = config['allowedFunctionNames'];
  if (allowed === undefined) return;
  faults.must(/^(ANY|VALIDATED)$/.test(String(config['mode'])), 'allowedFunctionNames needs the mode ANY');
  for (const name of faults.items(allowed, 'allowedFunctionNames')) {
    faults.must(names.includes(String(name)), `allowedFunctionNames has ${String(name)}`);
  }
}

function checkFunction(faults: Faults, value: unknown, at: string): string {
  if (!faults.object(value, at, ['name', 'description', 'parametersJsonSchema', 'behavior'])) return '';
  faults.text(value['name'], `${at}.name`, FUNCTION_NAME);
  const schema = value['parametersJsonSchema'];
  if (schema !== undefined) {
    faults.must(isJsonObject(schema) && schema['type'] === 'object', `${at}: parameters must be an object`);
    faults.must(!/"\$(ref|schema)":/.test(JSON.stringify(schema)), `${at}: reference to undefined schema`);
  }
  return String(value['name']);
}

function checkConfig(faults: Faults, config: unknown): void {
  if (config === undefined || !faults.object(config, 'generationConfig', CONFIG_KEYS)) return;
  const { thinkingConfig: thinking, stopSequences, responseJsonSchema, responseMimeType } = config;
  if (thinking !== undefined) {
    if (!faults.object(thinking, 'thinkingConfig', ['includeThoughts', 'thinkingBudget', 'thinkingLevel']))
      return;
    const isBoth = thinking['thinkingBudget'] !== undefined && thinking['thinkingLevel'] !== undefined;
    faults.must(!isBoth, 'thinkingConfig has a budget and a level');
  }
  const stops = stopSequences === undefined ? [] : faults.items(stopSequences, 'stopSequences');
  faults.must(stops.length <= 5, 'stopSequences has more than 5');
  if (responseJsonSchema !== undefined) {
    faults.must(responseMimeType === 'application/json', 'responseJsonSchema needs its responseMimeType');
    faults.must(!/"(\$ref|const)":/.test(JSON.stringify(responseJsonSchema)), 'responseJsonSchema: keywords');
  }
}

function objectsIn(parts: readonly JsonObject[], key: string): readonly JsonObject[] {
  return parts.map((part) => part[key]).filter((value) => isJsonObject(value));
}
