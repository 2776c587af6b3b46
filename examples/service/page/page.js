// A chat by `troupe/client`. The session is in the address: a reload, or a second window, goes on with the same conversation.

import { ServiceClient } from '/troupe/client/index.js';

const LOOK_MS = 500;
const client = new ServiceClient({ url: location.origin });
const list = document.getElementById('messages');
const pending = document.getElementById('pending');
const form = document.getElementById('form');
const input = document.getElementById('text');
const stop = document.getElementById('stop');

let session = location.hash.slice(1);
if (session === '') {
  session = (await client.createSession('assistant')).id;
  history.replaceState(null, '', `#${session}`);
}
let running = '';
let shown = 0;

function addLine(role, text) {
  const line = document.createElement('li');
  line.className = role;
  line.textContent = text;
  list.append(line);
  return line;
}

/** Shows the stored messages, and the tool calls that wait for a decision. */
async function showStored() {
  const [{ msgs }, waiting] = await Promise.all([client.messages(session), client.pending(session)]);
  list.replaceChildren();
  for (const { role, text } of msgs) if (text !== '') addLine(role, text);
  pending.replaceChildren(...waiting.map(cardOf));
}

function cardOf({ id, call, reason }) {
  const card = document.createElement('div');
  const question = document.createElement('p');
  question.textContent = `Allow ${call.name} ${JSON.stringify(call.input)}? ${reason ?? ''}`;
  card.append(question);
  for (const verdict of ['allow', 'deny']) {
    const button = document.createElement('button');
    button.textContent = verdict === 'allow' ? 'Allow' : 'Deny';
    button.onclick = async () => follow((await client.decide(session, [{ id, verdict }])).id);
    card.append(button);
  }
  return card;
}

/** Shows the events of a run from its beginning, until its end. */
async function follow(run) {
  if (running !== '') return;
  running = run;
  stop.hidden = false;
  pending.replaceChildren();
  let line = addLine('assistant', '');
  for await (const { event } of client.events(run)) {
    if (event.type === 'custom' && event.name === 'attempt') line.textContent = ''; // told from the beginning again
    if (event.type === 'text_delta' && event.agentPath.length === 1) line.textContent += event.text;
    if (event.type === 'tool_start') line = addLine('assistant', '');
  }
  running = '';
  stop.hidden = true;
  await showStored();
}

form.onsubmit = async (event) => {
  event.preventDefault();
  const text = input.value;
  input.value = '';
  addLine('user', text);
  const { id } = await client.start(session, text, { onBusy: 'queue', closePending: true });
  await follow(id);
};
stop.onclick = () => client.interrupt(running);

/** Looks for what other windows have begun or ended. */
async function look() {
  if (running !== '') return;
  const { data } = await client.sessions();
  const { activeRun, updatedAt = 0 } = data.find(({ id }) => id === session) ?? {};
  if (activeRun !== undefined) await follow(activeRun);
  else if (updatedAt !== shown) await showStored();
  shown = updatedAt;
}

await showStored();
await look();
setInterval(() => void look().catch(() => {}), LOOK_MS);
