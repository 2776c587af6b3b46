// A certificate for a test server, signed by itself. Written out by hand, because Node can't make one.

import { generateKeyPairSync, sign } from 'node:crypto';

const der = (tag: number, ...contents: Uint8Array[]): Buffer => {
  const body = Buffer.concat(contents);
  const { length } = body;
  const head =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), body]);
};
const sequence = (...contents: Uint8Array[]): Buffer => der(0x30, ...contents);
const text = (tag: number, value: string): Buffer => der(tag, Buffer.from(value));
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));

const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));
const COMMON_NAME = oid('550403');
const ALT_NAME = oid('551d11');
const DNS_NAME = 0x82;

/** The key and the certificate of a host, both as PEM. */
export function selfSigned(host: string): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(COMMON_NAME, text(0x0c, host))));
  const altName = sequence(ALT_NAME, der(0x04, sequence(text(DNS_NAME, host))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, Buffer.from([1])), // serial number
    ECDSA_SHA256,
    name,
    sequence(text(0x17, '250101000000Z'), text(0x18, '21250101000000Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(altName)),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, ECDSA_SHA256, der(0x03, Buffer.from([0]), signature));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
}
