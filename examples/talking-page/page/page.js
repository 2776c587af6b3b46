// The page: a microphone, a loudspeaker, and a WebSocket with the events of AgentScope's realtime agents.

const byId = (id) => document.getElementById(id);
const OUT_RATE = 24_000;
const IN_RATE = 16_000;

let socket;
let speaker;
window.playedSamples = 0; // for tests that look at the page from outside

/** The session is in the address, so that a page that is loaded again goes on. */
async function sessionId() {
  const known = location.hash.slice(1);
  if (known !== '') return known;
  const answer = await fetch('/api/sessions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'friday' }),
  });
  const { id } = await answer.json();
  location.hash = id;
  return id;
}

// The transcript

const lines = new Map();

function line(id, kind, text = '') {
  let element = lines.get(id);
  if (element === undefined) {
    element = document.createElement('li');
    element.className = kind;
    lines.set(id, element);
    byId('transcript').append(element);
  }
  if (text !== '') element.textContent = text;
  return element;
}

async function showHistory(id) {
  const answer = await fetch(`/api/sessions/${encodeURIComponent(id)}/messages`);
  const { data } = await answer.json();
  byId('transcript').replaceChildren();
  lines.clear();
  for (const msg of data) {
    const text =
      typeof msg.content === 'string'
        ? msg.content
        : msg.content
            .filter(({ type }) => type === 'text')
            .map((block) => block.text)
            .join('');
    if (text !== '' && msg.role !== 'system') line(msg.id, msg.role === 'user' ? 'user' : 'assistant', text);
  }
}

function askFor({ id, call, reason = '' }) {
  const element = line(`pending ${id}`, 'tool', `${call.name}(${JSON.stringify(call.input)}) ${reason} `);
  for (const [label, verdict] of [
    ['Allow', 'allow'],
    ['Deny', 'deny'],
  ]) {
    const button = document.createElement('button');
    button.textContent = label;
    button.onclick = () => {
      send({ type: 'client_decision', id, verdict });
      element.textContent = `${call.name}: ${verdict}`;
    };
    element.append(button);
  }
}

// Events

function send(event) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(event));
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function play({ item_id: itemId, delta, format }) {
  const bytes = bytesOf(delta);
  const input = new Int16Array(bytes.buffer, 0, bytes.length >> 1);
  const ratio = (format.rate ?? OUT_RATE) / OUT_RATE;
  const samples = Float32Array.from({ length: Math.floor(input.length / ratio) }, (_, i) => {
    const at = i * ratio;
    const left = Math.floor(at);
    const right = Math.min(left + 1, input.length - 1);
    return (input[left] + (input[right] - input[left]) * (at - left)) / 32768;
  });
  speaker.port.postMessage({ type: 'play', itemId, samples }, [samples.buffer]);
  byId('agent').classList.add('on');
}

function take(event) {
  switch (event.type) {
    case 'agent_ready':
      byId('status').textContent = `Connected with ${event.agent_name}.`;
      byId('stop').disabled = false;
      break;
    case 'agent_input_started':
      byId('person').classList.add('on');
      break;
    case 'agent_input_done':
      byId('person').classList.remove('on');
      break;
    case 'agent_input_transcription_done':
      if (event.transcript !== '') line(event.item_id, 'user', event.transcript);
      break;
    case 'agent_response_audio_transcript_delta':
      line(event.response_id, 'assistant').textContent += event.delta;
      break;
    case 'agent_response_audio_delta':
      play(event);
      break;
    case 'agent_response_audio_done':
      speaker.port.postMessage({ type: 'finish' });
      byId('agent').classList.remove('on');
      break;
    case 'agent_paused':
      speaker.port.postMessage({ type: 'pause' });
      byId('agent').classList.remove('on');
      break;
    case 'agent_resumed':
      speaker.port.postMessage({ type: 'resume' });
      break;
    case 'agent_cut':
      speaker.port.postMessage({ type: 'drop' });
      byId('agent').classList.remove('on');
      line(event.response_id, 'assistant').classList.add('cut');
      line(event.response_id, 'assistant').textContent = event.heard;
      break;
    case 'agent_response_tool_use_done':
      line(event.tool_use.id, 'tool', `${event.tool_use.name}(${event.tool_use.raw_input})`);
      break;
    case 'agent_response_tool_result':
      line(event.tool_result.id, 'tool').textContent += ` -> ${JSON.stringify(event.tool_result.output)}`;
      break;
    case 'agent_approval_needed':
      event.pending.forEach(askFor);
      break;
    case 'agent_error':
      byId('status').textContent = event.message;
      break;
  }
}

// Sound

async function startSound() {
  const input = new AudioContext({ sampleRate: IN_RATE });
  const output = new AudioContext({ sampleRate: OUT_RATE });
  await Promise.all([input.audioWorklet.addModule('/sound.js'), output.audioWorklet.addModule('/sound.js')]);
  speaker = new AudioWorkletNode(output, 'loudspeaker', { numberOfInputs: 0, outputChannelCount: [1] });
  speaker.connect(output.destination);
  speaker.port.onmessage = ({ data: { itemId, ms } }) => {
    window.playedSamples = Math.max(window.playedSamples, ms * (OUT_RATE / 1000));
    send({ type: 'client_playback', item_id: itemId, played_ms: ms });
  };
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
  const stream = await navigator.mediaDevices.getUserMedia({ audio });
  const microphone = new AudioWorkletNode(input, 'microphone');
  input.createMediaStreamSource(stream).connect(microphone);
  microphone.port.onmessage = ({ data }) => {
    if (socket?.bufferedAmount > 256 * 1024) return; // the network is behind: old sound is worth nothing
    const text = String.fromCharCode(...new Uint8Array(data));
    send({ type: 'client_audio_append', audio: btoa(text), format: { type: 'audio/pcm', rate: IN_RATE } });
  };
}

async function talk() {
  byId('talk').disabled = true;
  try {
    const id = await sessionId();
    await showHistory(id);
    await startSound();
    const url = new URL(`/api/sessions/${encodeURIComponent(id)}/talk`, location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    socket = new WebSocket(url, ['troupe.talk']);
    socket.onopen = () => send({ type: 'client_session_create', config: { reports_playback: true } });
    socket.onmessage = ({ data }) => take(JSON.parse(data));
    socket.onclose = () => {
      byId('status').textContent = 'The conversation has ended.';
      byId('stop').disabled = true;
    };
  } catch (error) {
    byId('status').textContent = String(error);
    byId('talk').disabled = false;
  }
}

byId('talk').onclick = talk;
byId('stop').onclick = () => send({ type: 'client_response_cancel' });
byId('form').onsubmit = (event) => {
  event.preventDefault();
  const text = byId('text').value.trim();
  if (text === '') return;
  line(`said ${Date.now()}`, 'user', text);
  send({ type: 'client_text_append', text });
  byId('text').value = '';
};
if (location.hash !== '') await showHistory(location.hash.slice(1));
