import { createPrivateKey, createPublicKey, verify, type KeyObject } from 'node:crypto';

import type { AgentCard } from '@a2a-js/sdk';

import { TroupeError } from '../../errors.ts';
import { isJsonObject, readJson } from '../../util/json.ts';
import { A2AError } from './a2a-error.ts';
import { a2aSdk } from './sdk.ts';

/** Key, as an object or PEM text. */
export type CardKey = KeyObject | string;

export interface CardSigning {
  /** Private key: Ed25519, P-256 or RSA. */
  readonly key: CardKey;
  /** Key id, by which others find the public key. */
  readonly keyId: string;
}

/** Signature scheme of each kind of key. The key decides, never the header of a signature. */
const SCHEMES: Readonly<Record<string, { readonly alg: string; readonly hash: string | null }>> = {
  ed25519: { alg: 'EdDSA', hash: null },
  ec: { alg: 'ES256', hash: 'sha256' },
  rsa: { alg: 'RS256', hash: 'sha256' },
};

/** Adds a signature to a card. */
export function signCard(card: AgentCard, { key, keyId }: CardSigning): Promise<AgentCard> {
  const privateKey = typeof key === 'string' ? createPrivateKey(key) : key;
  return a2aSdk.generateAgentCardSignature(privateKey, {
    alg: schemeOf(privateKey).alg,
    kid: keyId,
    typ: 'JOSE',
  })(card);
}

/** @throws A2AError unless one of the keys has signed the unchanged card. */
export function verifyCard(card: AgentCard, keys: readonly CardKey[]): void {
  const payload = base64url(a2aSdk.canonicalizeAgentCard(card));
  const publicKeys = keys.map((key) => (typeof key === 'string' ? createPublicKey(key) : key));
  const isSigned = card.signatures.some(({ protected: head, signature }) =>
    publicKeys.some((key) => isValid(key, head, payload, signature)),
  );
  if (isSigned) return;
  throw new A2AError('bad_card', 'The agent card is not signed by any of cardKeys, or was altered.');
}

function isValid(key: KeyObject, head: string, payload: string, signature: string): boolean {
  const { alg, hash } = schemeOf(key);
  const header = readJson(Buffer.from(head, 'base64url').toString());
  if (!isJsonObject(header) || header['alg'] !== alg || header['crit'] !== undefined) return false;
  const signed = Buffer.from(`${head}.${payload}`);
  try {
    return verify(hash, signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
  } catch {
    return false; // not a signature of this kind
  }
}

function schemeOf(key: KeyObject): { readonly alg: string; readonly hash: string | null } {
  const scheme = SCHEMES[key.asymmetricKeyType ?? ''];
  const isOtherCurve =
    key.asymmetricKeyDetails?.namedCurve !== 'prime256v1' && key.asymmetricKeyType === 'ec';
  if (scheme !== undefined && !isOtherCurve) return scheme;
  throw new TroupeError('invalid_config', 'A card is signed by a key of the kind Ed25519, P-256 or RSA.');
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
