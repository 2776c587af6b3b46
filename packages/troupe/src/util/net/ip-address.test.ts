import { BlockList, isIP } from 'node:net';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { isIpAddress, isPublicAddress } from './ip-address.ts';

/** Every block that is not public: its first and last address, and their neighbours where those are public. */
const EDGES: readonly (readonly [block: string, first: string, last: string, ...neighbours: string[]])[] = [
  ['this network', '0.0.0.0', '0.255.255.255', '1.0.0.0'],
  ['private 10/8', '10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['carrier-grade NAT', '100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['loopback', '127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['Azure host', '168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
  ['link-local', '169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['private 172.16/12', '172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['protocol assignments', '192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['documentation 1', '192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['6to4 relays', '192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['private 192.168/16', '192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['benchmarks', '198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['documentation 2', '198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['documentation 3', '203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['multicast', '224.0.0.0', '239.255.255.255', '223.255.255.255'],
  ['reserved and broadcast', '240.0.0.0', '255.255.255.255'],
  ['IPv6 below global unicast', '::', `1fff${':ffff'.repeat(7)}`, '2000::'],
  [
    'IPv6 protocol assignments, Teredo',
    '2001::',
    `2001:1ff${':ffff'.repeat(6)}`,
    `2000${':ffff'.repeat(7)}`,
    '2001:200::',
  ],
  [
    'IPv6 documentation 1',
    '2001:db8::',
    `2001:db8${':ffff'.repeat(6)}`,
    `2001:db7${':ffff'.repeat(6)}`,
    '2001:db9::',
  ],
  ['6to4', '2002::', `2002${':ffff'.repeat(7)}`, `2001${':ffff'.repeat(7)}`, '2003::'],
  ['6bone', '3ffe::', `3ffe${':ffff'.repeat(7)}`, `3ffd${':ffff'.repeat(7)}`],
  ['IPv6 documentation 2', '3fff::', `3fff:fff${':ffff'.repeat(6)}`, '3fff:1000::'],
  ['IPv6 above global unicast', '4000::', `ffff${':ffff'.repeat(7)}`, `3fff${':ffff'.repeat(7)}`],
];

test.each(EDGES)('%s ends where it should', (_, first, last, ...neighbours) => {
  expect([first, last].filter(isPublicAddress)).toEqual([]);
  expect(neighbours.filter(isPublicAddress)).toEqual(neighbours);
});

test.each([
  '::1',
  '::127.0.0.1',
  '::8.8.8.8',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::FFFF:a9fe:a9fe',
  '0:0:0:0:0:ffff:10.0.0.1',
  '64:ff9b::169.254.169.254',
  '64:ff9b::8.8.8.8',
  '64:ff9b:1::a00:1',
  '100::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
])('%s is an address, and not public', (address) => {
  expect(isIpAddress(address)).toBe(true);
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  '8.8.8.8',
  '93.184.216.34',
  '2606:4700:4700::1111',
  '2a00:1450:4001:82a::200e',
  '2620:0:860:ed1a::1',
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  '',
  'example.com',
  '8.8.8',
  '8.8.8.8.',
  '8.8.8.08',
  '8.8.8.256',
  '0x8.8.8.8',
  '134744072',
  '+8.8.8.8',
  ' 8.8.8.8',
  '8.8.8.8\n',
  '[2606::1]',
  '2606::1::2',
  '2606:::1',
  '2606:1',
  '2606:1:2:3:4:5:6:7:8',
  '2606:1:2:3:4:5:6:7::',
  '2606::12345',
  '2606::1%eth0',
  '38.6.0.1::1',
  '2606::8.8.8.8.8',
  ':',
  ':1',
  '1:',
])('%j is no address, and so not public', (text) => {
  expect(isIpAddress(text)).toBe(false);
  expect(isPublicAddress(text)).toBe(false);
});

describe('agrees with Node', () => {
  const group = fc.oneof(
    fc.constantFrom('0', 'ffff', '2001', 'DB8', ''),
    fc.integer({ min: 0, max: 0x1_2000 }).map((number) => number.toString(16)),
  );
  const v6ish = fc.array(group, { minLength: 1, maxLength: 9 }).map((groups) => groups.join(':'));
  const tailed = fc.tuple(v6ish, fc.ipV4()).map(([head, tail]) => `${head}:${tail}`);
  const numbers = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 3, maxLength: 5 });
  const text = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    v6ish,
    tailed,
    numbers.map((parts) => parts.join('.')),
  );

  test('about what is an address', () => {
    let addresses = 0;
    fc.assert(
      fc.property(text, (candidate) => {
        const expected = isIP(candidate) !== 0;
        if (expected) addresses += 1;
        expect(isIpAddress(candidate)).toBe(expected);
      }),
      { numRuns: 3000 },
    );
    expect(addresses).toBeGreaterThan(500);
  });

  test('about what lies in a block', () => {
    const list = new BlockList();
    for (const [, first, last] of EDGES) list.addRange(first, last, isIP(first) === 4 ? 'ipv4' : 'ipv6');
    const seen = { public: 0, reserved: 0 };
    const anywhere = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV6().map((ip) => `2001:db8:${ip}`),
    );
    fc.assert(
      fc.property(
        anywhere.filter((ip) => isIP(ip) !== 0),
        (ip) => {
          const isReserved = list.check(ip, isIP(ip) === 4 ? 'ipv4' : 'ipv6');
          seen[isReserved ? 'reserved' : 'public'] += 1;
          expect(isPublicAddress(ip)).toBe(!isReserved);
        },
      ),
      { numRuns: 3000 },
    );
    expect(Math.min(seen.public, seen.reserved)).toBeGreaterThan(100);
  });
});
