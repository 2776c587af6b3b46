/** Parses IP addresses and recognizes public ones. */

interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

interface Block extends Address {
  readonly prefix: number;
}

/** IPv4 blocks that don't hold public hosts. */
const RESERVED_V4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT, and the metadata of some clouds
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // looks public, but reaches the host of an Azure machine
  '169.254.0.0/16', // link-local, and the metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
].map(toBlock);

/**
 * IPv6 block of public hosts. Addresses outside are local, multicast, or contain an unchecked IPv4 address
 * (mapped, compatible, or behind a NAT64 gateway).
 */
const GLOBAL_V6 = toBlock('2000::/3');

/** Blocks inside `GLOBAL_V6` that are not public. */
const RESERVED_V6 = [
  '2001::/23', // protocol assignments, including Teredo, which contains an IPv4 address
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which contains an IPv4 address
  '3ffe::/16', // returned to the registry
  '3fff::/20', // documentation
].map(toBlock);

/** Tells whether a text is the IP address of a public host. False for anything else, also for host names. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (address === undefined) return false;
  if (address.bits === 32) return !RESERVED_V4.some((block) => contains(block, address));
  return contains(GLOBAL_V6, address) && !RESERVED_V6.some((block) => contains(block, address));
}

/** Tells whether a text is an IP address; IPv6 without brackets. */
export function isIpAddress(text: string): boolean {
  return parseAddress(text) !== undefined;
}

function contains(block: Block, address: Address): boolean {
  const rest = BigInt(block.bits - block.prefix);
  return address.value >> rest === block.value >> rest;
}

function toBlock(text: string): Block {
  const [start = '', prefix] = text.split('/');
  const address = parseAddress(start);
  if (address === undefined) throw new TypeError(`${text} is not a block of addresses`);
  return { ...address, prefix: Number(prefix) };
}

function parseAddress(text: string): Address | undefined {
  const groups = text.includes(':') ? parseV6(text) : parseV4(text);
  if (groups === undefined) return undefined;
  const width = groups.length === 4 ? 8n : 16n;
  const value = groups.reduce((sum, group) => (sum << width) | BigInt(group), 0n);
  return { bits: groups.length === 4 ? 32 : 128, value };
}

/** Parses `a.b.c.d` to four bytes. Rejects leading zeros, which some parsers read as octal. */
function parseV4(text: string): number[] | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

/**
 * Parses an IPv6 address to eight groups. Rejects zones (`fe80::1%eth0`), which are valid on one machine
 * only.
 */
function parseV6(text: string): number[] | undefined {
  const halves = withoutV4(text).split('::');
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')));
  if (!groups.flat().every((group) => /^[\da-f]{1,4}$/i.test(group))) return undefined;
  const missing = 8 - groups.flat().length;
  const isWhole = halves.length === 1 ? missing === 0 : halves.length === 2 && missing > 0;
  if (!isWhole) return undefined;
  const [head = [], tail = []] = groups;
  const zeros = Array.from({ length: missing }, () => '0');
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}

/** Rewrites a trailing IPv4 part as two hex groups. */
function withoutV4(text: string): string {
  const start = text.lastIndexOf(':') + 1;
  const bytes = parseV4(text.slice(start));
  if (bytes === undefined) return text;
  const [a = '', b = '', c = '', d = ''] = bytes.map((byte) => byte.toString(16).padStart(2, '0'));
  return `${text.slice(0, start)}${a}${b}:${c}${d}`;
}
