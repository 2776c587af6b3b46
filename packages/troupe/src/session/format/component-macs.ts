import { TroupeError } from '../../errors.ts';
import { canonicalJson } from '../../util/canonical-json.ts';
import { hmacSha256, isSameSecret } from '../../util/hash.ts';
import { isJsonObject, setOwn, type JsonObject, type JsonValue } from '../../util/json.ts';
import { aliasPath, type SessionComponents } from './component-state.ts';
import type { Head, HeadList } from './session-format.ts';
import type { CheckedKey } from './session-key.ts';
import type { SessionStore } from './session-store.ts';

const MIN_KEY_BYTES = 16;

/** Key of the MACs: at least 16 bytes, or 16 characters. Keep it outside of the sessions. */
export type ApprovalKey = string | Uint8Array;

/** Bytes of a key. @throws TroupeError if the key is too short */
export function approvalKeyBytes(key: ApprovalKey): Uint8Array<ArrayBuffer> {
  const bytes = typeof key === 'string' ? new TextEncoder().encode(key) : new Uint8Array(key);
  if (bytes.length >= MIN_KEY_BYTES) return bytes;
  throw new TroupeError('invalid_config', `An approvalKey needs at least ${MIN_KEY_BYTES} bytes.`);
}

/** Signed parts of a head: states of components without lists, and paths of lists. */
export interface SignedParts {
  readonly components: JsonObject;
  readonly lists: readonly Pick<HeadList, 'path'>[];
}

/**
 * Message authentication codes of components: HMAC-SHA-256 over the scope, the ids of the session, the name of the component,
 * its state without lists and the paths of its lists, under a key outside of the state. Items of lists grant nothing; a list at
 * another path could take the place of a part that does. Only a state with a valid code may grant anything, unless the store
 * is private to the program and the program gave no key.
 */
export class ComponentMacs {
  readonly #store: SessionStore;
  readonly #given: Uint8Array<ArrayBuffer> | undefined;

  /** @param given key of the program; otherwise the store may have one of its own */
  constructor(store: SessionStore, given: ApprovalKey | undefined) {
    this.#store = store;
    this.#given = given === undefined ? undefined : approvalKeyBytes(given);
  }

  /** Whether nobody but the program can edit states. */
  get #isPrivate(): boolean {
    return this.#given === undefined && this.#store.isPrivate === true;
  }

  /** Codes for the components of a save. Without a key there are none. */
  async sign(key: CheckedKey, { components, lists }: SignedParts): Promise<JsonObject> {
    const secret = this.#given ?? (await this.#store.approvalKey?.('make'));
    const macs: { [name: string]: JsonValue } = {};
    if (secret === undefined) return macs;
    for (const [name, state] of Object.entries(components))
      setOwn(macs, name, await this.#macOf(secret, key, name, state, lists));
    return macs;
  }

  /** Codes for a copy in another session, for those components whose own code is valid. */
  async signCopy(from: CheckedKey, head: Head, to: CheckedKey): Promise<JsonObject> {
    const names = Object.keys(head.components);
    const valid = await Promise.all(names.map((name) => this.#isValid(from, head, name)));
    const kept = names.filter((_, i) => valid[i]).map((name) => [name, head.components[name] ?? null]);
    return this.sign(to, { components: Object.fromEntries(kept) as JsonObject, lists: head.lists });
  }

  /** True if nobody has edited the saved state of any of the components. */
  async areValid(key: CheckedKey, head: Head, components: SessionComponents): Promise<boolean> {
    if (this.#isPrivate) return true;
    const names = Object.keys(components)
      .filter((name) => Object.hasOwn(head.components, name))
      .flatMap((name) => [name, aliasPath(head.components[name])?.[0] ?? name]);
    const valid = await Promise.all([...new Set(names)].map((name) => this.#isValid(key, head, name)));
    return valid.every(Boolean);
  }

  async #isValid(key: CheckedKey, { macs, components, lists }: Head, name: string): Promise<boolean> {
    const mac = isJsonObject(macs) && Object.hasOwn(macs, name) ? macs[name] : undefined;
    const state = Object.hasOwn(components, name) ? components[name] : undefined;
    if (typeof mac !== 'string' || state === undefined) return false;
    const secret = this.#given ?? (await this.#store.approvalKey?.('read'));
    return secret !== undefined && isSameSecret(mac, await this.#macOf(secret, key, name, state, lists));
  }

  async #macOf(
    secret: Uint8Array<ArrayBuffer>,
    { user, session }: CheckedKey,
    name: string,
    state: JsonValue,
    lists: SignedParts['lists'],
  ): Promise<string> {
    const { scope = '' } = this.#store;
    const paths = lists.filter(({ path }) => path[0] === name).map(({ path }) => canonicalJson(path));
    const signed = ['troupe-state', 2, scope, user, session, name, state, paths.toSorted()];
    return hmacSha256(secret, canonicalJson(signed));
  }
}
