import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { a2aErrors, a2aSdk } from '../protocol/sdk.ts';

/** Maximum characters of ids from clients. */
const MAX_ID = 200;
const CONTENTS = ['text', 'raw', 'url', 'data'];
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/**
 * Checks the parameters of a request as the client sent them, before the package converts them: conversion turns missing and wrong
 * values into defaults.
 * @throws RequestMalformedError, which becomes -32602
 */
export function checkParams(method: string, params: JsonValue | undefined): void {
  if (method === 'GetExtendedAgentCard' && params === undefined) return;
  if (!isJsonObject(params)) throw malformed('params must be an object.');
  checkText(params, 'tenant');
  checkMetadata(params, 'metadata');
  switch (method) {
    case 'SendMessage':
    case 'SendStreamingMessage':
      return checkSend(params);
    case 'GetTask':
      checkId(params, 'id', true);
      return checkHistoryLength(params);
    case 'CancelTask':
    case 'SubscribeToTask':
      return checkId(params, 'id', true);
    case 'ListTasks':
      return checkList(params);
    default: // methods that are not supported: their webhooks
      checkPage(params);
      checkWebhook(params);
  }
}

function checkSend(params: JsonObject): void {
  const { message, configuration = {} } = params;
  if (!isJsonObject(message)) throw malformed('params.message must be a message.');
  checkId(message, 'messageId', true);
  checkId(message, 'contextId', false);
  checkId(message, 'taskId', false);
  const role = a2aSdk.roleFromJSON(message['role']);
  if (role !== a2aSdk.Role.ROLE_USER) throw malformed('message.role must be ROLE_USER.');
  const { parts } = message;
  if (!Array.isArray(parts) || parts.length === 0) throw malformed('message.parts must be a list of parts.');
  parts.forEach((part: JsonValue, i) => checkPart(part, `message.parts[${i}]`));
  checkMetadata(message, 'message.metadata');
  checkTexts(message, 'extensions', 'extensions');
  checkTexts(message, 'referenceTaskIds', 'reference_task_ids');
  if (!isJsonObject(configuration)) throw malformed('configuration must be an object.');
  checkHistoryLength(configuration);
  checkBoolean(configuration, 'returnImmediately', 'return_immediately');
  checkTexts(configuration, 'acceptedOutputModes', 'accepted_output_modes');
  const webhook = either(configuration, 'taskPushNotificationConfig', 'task_push_notification_config') ?? {};
  if (!isJsonObject(webhook)) throw malformed('taskPushNotificationConfig must be an object.');
  checkWebhook(webhook);
}

/** Checks the types of a webhook. The package then says that webhooks are not supported. */
function checkWebhook(config: JsonObject): void {
  for (const name of ['tenant', 'id', 'url', 'token']) checkText(config, name);
  checkText(config, 'taskId', 'task_id');
  const { authentication } = config;
  if (!isJsonObject(authentication ?? {})) throw malformed('authentication must be an object.');
  for (const name of ['scheme', 'credentials']) checkText((authentication ?? {}) as JsonObject, name);
}

function checkPart(part: JsonValue, where: string): void {
  if (!isJsonObject(part)) throw malformed(`${where} must be an object.`);
  const given = CONTENTS.filter((name) => part[name] !== undefined && part[name] !== null);
  const [content, ...others] = given;
  if (content === undefined || others.length > 0)
    throw malformed(`${where} must have one of ${CONTENTS.join(', ')}.`);
  const value = part[content];
  if (content !== 'data') {
    if (typeof value !== 'string') throw malformed(`${where}.${content} must be a text.`);
    if (content === 'raw' && !BASE64.test(value)) throw malformed(`${where}.raw must be base64.`);
  }
  for (const name of ['mediaType', 'media_type', 'filename'])
    if (typeof (part[name] ?? '') !== 'string') throw malformed(`${where}.${name} must be a text.`);
  checkMetadata(part, `${where}.metadata`);
}

function checkList(params: JsonObject): void {
  checkId(params, 'contextId', false);
  checkHistoryLength(params);
  checkBoolean(params, 'includeArtifacts', 'include_artifacts');
  checkPage(params);
  checkText(params, 'statusTimestampAfter', 'status_timestamp_after');
  const { status } = params;
  const isKnown = status === undefined || status === null || a2aSdk.taskStateFromJSON(status) >= 0;
  if (!isKnown) throw malformed('status must be a state of tasks, such as TASK_STATE_WORKING.');
}

function checkPage(params: JsonObject): void {
  checkText(params, 'pageToken', 'page_token');
  if (typeof (either(params, 'pageSize', 'page_size') ?? 0) !== 'number')
    throw malformed('pageSize must be a whole number from 1 to 100.');
}

function checkId(params: JsonObject, name: string, isRequired: boolean): void {
  const value = either(params, name, name.replace('Id', '_id')) ?? '';
  if (typeof value !== 'string' || value.length > MAX_ID)
    throw malformed(`${name} must be a text of at most ${MAX_ID} characters.`);
  if (isRequired && value === '') throw malformed(`${name} is required.`);
}

function checkHistoryLength(params: JsonObject): void {
  const length = either(params, 'historyLength', 'history_length') ?? 0;
  if (typeof length !== 'number' || !Number.isSafeInteger(length) || length < 0)
    throw malformed('historyLength must be a whole number of 0 or more.');
}

function checkBoolean(params: JsonObject, name: string, otherName: string): void {
  if (typeof (either(params, name, otherName) ?? false) !== 'boolean')
    throw malformed(`${name} must be true or false.`);
}

function checkText(params: JsonObject, name: string, otherName = name): void {
  if (typeof (either(params, name, otherName) ?? '') !== 'string') throw malformed(`${name} must be a text.`);
}

function checkTexts(params: JsonObject, name: string, otherName: string): void {
  const list = either(params, name, otherName) ?? [];
  if (!Array.isArray(list) || !list.every((one) => typeof one === 'string'))
    throw malformed(`${name} must be a list of texts.`);
}

/** @param where the name of the field, for the error */
function checkMetadata({ metadata }: JsonObject, where: string): void {
  if (!isJsonObject(metadata ?? {})) throw malformed(`${where} must be an object.`);
}

/** A field by its name in JSON, or by its name in the protocol buffer. */
function either(params: JsonObject, name: string, otherName: string): JsonValue | undefined {
  return params[name] ?? params[otherName];
}

function malformed(problem: string): Error {
  return new a2aErrors.RequestMalformedError(problem);
}
