// The page: shows a conversation while it grows. What a model, a tool or a user wrote is never markup: it gets on the page by
// `textContent` and as text nodes only.

import { ConversationView, foldEvents, readEvents } from 'troupe/events';

const byId = (id) => document.getElementById(id);
const [list, notice, composer, field] = ['messages', 'notice', 'composer', 'text'].map(byId);
const [send, stop, fresh, ideas] = ['send', 'stop', 'new', 'ideas'].map(byId);

let view = new ConversationView();
/** Address of the conversation on the server. */
let address = '';
/** Ends the current run by leaving its events. */
let running;
let problem = '';
let isDrawn = true;
/** Tool calls that were asked about, by id: after a reload they are not in a message before they have run. */
const askedCalls = new Map();
/** What each element of a tool call shows. */
const drawn = new WeakMap();

/** Sends a request with JSON, and returns the response. */
async function post(path, body, signal) {
  const headers = { 'content-type': 'application/json' };
  return fetch(path, { method: 'POST', headers, body: JSON.stringify(body), signal });
}

/** Loads the conversation that the address bar names, or makes a new one. */
async function open() {
  try {
    const response =
      location.hash === '' ? undefined : await fetch(`/conversations/${location.hash.slice(1)}`);
    const state = response?.ok ? await response.json() : await create();
    address = `/conversations/${location.hash.slice(1)}`;
    view = new ConversationView(state);
    problem = '';
  } catch (error) {
    problem = error.message;
  }
  draw();
}

async function create() {
  const { id } = await (await post('/conversations', {})).json();
  history.replaceState(null, '', `#${id}`);
  return { messages: [] };
}

/** Runs the agent, and shows its events while they come. */
async function run(part, body) {
  if (running !== undefined) return; // a second click
  running = new AbortController();
  problem = '';
  draw();
  try {
    const response = await post(`${address}/${part}`, body, running.signal);
    for await (const _ of foldEvents(readEvents(response), view)) drawSoon();
  } catch (error) {
    if (!running.signal.aborted) problem = error.message;
    await reload(); // stopped, or the connection broke: the server knows what is left
  } finally {
    running = undefined;
    draw();
    field.focus();
  }
}

/** Shows what the server has of the conversation, in the place of what the events told. */
async function reload() {
  try {
    view = new ConversationView(await (await fetch(address)).json());
  } catch (error) {
    problem = error.message;
  }
}

function say(text) {
  view.addMsg({ id: crypto.randomUUID(), name: 'you', role: 'user', content: text });
  field.value = '';
  return run('messages', { text });
}

/** Draws before the next frame, however many events come until then. */
function drawSoon() {
  if (!isDrawn) return;
  isDrawn = false;
  requestAnimationFrame(draw);
}

function draw() {
  isDrawn = true;
  const { messages, pending, error } = view;
  const page = list.parentElement;
  const isAtEnd = page.scrollHeight - page.scrollTop - page.clientHeight < 60;
  for (const { call } of pending) askedCalls.set(call.id, call);
  const asked = new Map(pending.map((one) => [one.call.id, one]));
  const blocks = messages.flatMap(({ content }) => content);
  const results = new Map(blocks.filter(isResult).map((block) => [block.id, block]));
  const calls = new Set(blocks.filter(isCall).map(({ id }) => id));
  // a result is shown with its tool call; a tool call without a message by itself
  const inMessages = messages.map(({ role, content }) => ({
    role,
    blocks: content.flatMap((block) =>
      isResult(block) ? (calls.has(block.id) ? [] : [callOf(block)]) : [block],
    ),
  }));
  const alone = pending.filter(({ call }) => !calls.has(call.id) && !results.has(call.id));
  const items = [...inMessages, { role: 'assistant', blocks: alone.map(({ call }) => call) }];
  sync(
    list,
    items.filter(({ blocks }) => blocks.length > 0),
    'li',
    (item, { role, blocks }) => {
      item.className = role;
      sync(item, blocks, 'div', (element, block) =>
        isCall(block)
          ? drawCall(element, block, results.get(block.id), asked.get(block.id))
          : drawText(element, block),
      );
    },
  );

  const isRunning = running !== undefined;
  send.hidden = isRunning;
  stop.hidden = !isRunning;
  fresh.disabled = isRunning;
  ideas.hidden = address === '' || messages.length + pending.length > 0;
  field.disabled = send.disabled = isRunning || pending.length > 0;
  field.placeholder = pending.length > 0 ? 'Allow or deny first' : 'Write to Friday';
  const trouble = problem || error?.message || '';
  notice.className = trouble ? 'problem' : '';
  notice.textContent = trouble || (isRunning ? 'Friday is working …' : '');
  if (isAtEnd) page.scrollTop = page.scrollHeight;
}

/** The tool call of a result that came alone. */
function callOf({ id, name }) {
  return askedCalls.get(id) ?? { type: 'tool_use', id, name, input: {} };
}

const isResult = (block) => block.type === 'tool_result';
const isCall = (block) => block.type === 'tool_use';

/** Gives an element one child for each item. */
function sync(parent, items, tag, drawItem) {
  while (parent.children.length > items.length) parent.lastElementChild.remove();
  while (parent.children.length < items.length) parent.append(document.createElement(tag));
  items.forEach((item, i) => drawItem(parent.children[i], item));
}

function drawText(element, block) {
  const text = block.text ?? block.thinking ?? `(${block.type})`;
  element.className = `text ${block.type} ${block.isPartial ? 'grows' : ''}`;
  drawn.delete(element);
  if (element.textContent !== text) element.textContent = text;
}

/** A tool call: its name and status, its arguments as far as they are written, and its result or a question. */
function drawCall(element, call, result, asked) {
  const before = drawn.get(element);
  if (before?.call === call && before.result === result && before.asked === asked) return; // views never change
  drawn.set(element, { call, result, asked });
  const { name, input, isPartial } = call;
  const status = asked
    ? 'waiting'
    : isPartial
      ? 'writing'
      : result?.isPartial
        ? 'running'
        : (result?.status ?? 'running');
  const words = { waiting: 'waits for you', writing: 'is being written', running: 'runs', ok: 'done' };
  element.className = asked ? 'call waits' : 'call';
  const head = make(
    'div',
    'head',
    make('span', 'tool', name),
    make('span', `status ${status}`, words[status] ?? status),
  );
  const rows = Object.entries(input).flatMap(([key, value]) => [
    make('dt', '', key),
    make('dd', '', typeof value === 'string' ? value : JSON.stringify(value)),
  ]);
  const parts = [head];
  if (rows.length > 0) parts.push(make('dl', 'input', ...rows));
  if (asked) parts.push(question(asked));
  else if (result) parts.push(make('div', 'output', textOf(result.output)));
  element.replaceChildren(...parts);
}

function question({ id, reason = 'It needs your approval.' }) {
  const button = (label, verdict) => {
    const made = make('button', verdict, label);
    made.type = 'button';
    made.addEventListener('click', () => void run('decisions', { decisions: [{ id, verdict }] }));
    return made;
  };
  return make('div', 'ask', make('span', '', reason), button('Deny', 'deny'), button('Allow', 'allow'));
}

function textOf(output) {
  return typeof output === 'string'
    ? output
    : output.map((block) => block.text ?? `(${block.type})`).join('\n');
}

/** An element with children; strings become text. */
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...children);
  return element;
}

composer.addEventListener('submit', (event) => {
  event.preventDefault();
  const text = field.value.trim();
  if (text !== '' && !field.disabled) void say(text);
});
field.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  composer.requestSubmit();
});
for (const idea of ideas.querySelectorAll('button'))
  idea.addEventListener('click', () => void say(idea.textContent.trim()));
stop.addEventListener('click', () => running?.abort());
fresh.addEventListener('click', () => {
  history.replaceState(null, '', location.pathname);
  void open();
});

await open();
