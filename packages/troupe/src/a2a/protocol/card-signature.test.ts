import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto';

import { AgentCard, canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { beforeAll, expect, test } from 'vitest';

import { A2AError } from './a2a-error.ts';
import { signCard, verifyCard } from './card-signature.ts';
import { toServerCard } from '../server/server-card.ts';
import { loadA2AServerSdk } from './sdk.ts';

beforeAll(loadA2AServerSdk);

const KINDS = {
  Ed25519: () => generateKeyPairSync('ed25519'),
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  RSA: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
};
const CARD = toServerCard(
  { name: 'n', description: 'd', security: 'bearer', skills: [{ id: 's', name: 's', description: 's' }] },
  'https://a.example/',
);

test.each(Object.entries(KINDS))(
  'a signature by a key of the kind %s holds, also for the official SDK',
  async (_, make) => {
    const { privateKey, publicKey } = make();
    const signed = await signCard(CARD, {
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      keyId: 'k',
    });
    await verifyAgentCardSignature(async () => publicKey)(signed);
    verifyCard(signed, [publicKey]);
    const published = AgentCard.fromJSON(JSON.parse(JSON.stringify(AgentCard.toJSON(signed))));
    verifyCard(published, [make().publicKey, publicKey]);
    expect(() => verifyCard({ ...published, name: 'x' }, [publicKey])).toThrow(A2AError);
    expect(() => verifyCard({ ...published, supportedInterfaces: [] }, [publicKey])).toThrow(A2AError);
    expect(() => verifyCard(published, [make().publicKey])).toThrow(A2AError);
    expect(() => verifyCard(published, [])).toThrow(A2AError);
    expect(() => verifyCard({ ...published, signatures: [] }, [publicKey])).toThrow(A2AError);
  },
);

test('the key decides how a card is signed, not the signature', () => {
  const { privateKey, publicKey } = KINDS.RSA();
  const payload = Buffer.from(canonicalizeAgentCard(CARD)).toString('base64url');
  const signedAs = (header: object): AgentCard => {
    const head = Buffer.from(JSON.stringify(header)).toString('base64url');
    const signature = sign('sha256', Buffer.from(`${head}.${payload}`), privateKey).toString('base64url');
    return { ...CARD, signatures: [{ protected: head, signature, header: undefined }] };
  };
  verifyCard(signedAs({ alg: 'RS256' }), [publicKey]);
  for (const header of [
    { alg: 'none' },
    { alg: 'HS256' },
    { alg: 'ES256' },
    {},
    { alg: 'RS256', crit: ['b64'] },
  ]) {
    expect(() => verifyCard(signedAs(header), [publicKey])).toThrow(A2AError);
  }
  const nonsense = { ...CARD, signatures: [{ protected: '%%%', signature: '%%%', header: undefined }] };
  expect(() => verifyCard(nonsense, [publicKey])).toThrow(A2AError);
});

test('a key of another kind is refused', () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const card = { ...CARD, signatures: [{ protected: '', signature: '', header: undefined }] };
  expect(() => verifyCard(card, [publicKey])).toThrow(/Ed25519, P-256 or RSA/);
  const { publicKey: x } = generateKeyPairSync('x25519');
  expect(() => verifyCard(card, [createPublicKey(x.export({ type: 'spki', format: 'pem' }))])).toThrow(
    /Ed25519/,
  );
});
