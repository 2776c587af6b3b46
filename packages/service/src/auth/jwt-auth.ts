import { createLocalJWKSet, createRemoteJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';

import { bearerToken, type Authenticate } from './authenticate.ts';

export interface JwtAuthOptions {
  /** Address of the issuer's keys, or the keys themselves. */
  readonly jwks: URL | JSONWebKeySet;
  readonly issuer: string;
  readonly audience: string;
  /** Claim with the id of the user. @default 'sub' */
  readonly userClaim?: string | undefined;
  /** Accepted signature algorithms; never symmetric ones or `none`. @default RS256, ES256, EdDSA and their variants */
  readonly algorithms?: readonly string[] | undefined;
}

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** Authenticates by a JWT of an identity provider: signature, issuer, audience and times are checked. For the option `auth` of a service. */
export function jwtAuth({
  jwks,
  issuer,
  audience,
  userClaim = 'sub',
  algorithms = ALGORITHMS,
}: JwtAuthOptions): Authenticate {
  const keys = jwks instanceof URL ? createRemoteJWKSet(jwks) : createLocalJWKSet(jwks);
  return async (request) => {
    const token = bearerToken(request);
    if (token === undefined) return undefined;
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms: [...algorithms],
        requiredClaims: ['exp', userClaim],
      });
      const user = payload[userClaim];
      return typeof user === 'string' && user !== '' ? { user } : undefined;
    } catch {
      return undefined; // why is of use to an attacker only
    }
  };
}
