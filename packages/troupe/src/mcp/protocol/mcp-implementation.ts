/** Name and version sent in the handshake. */
export const IMPLEMENTATION = { name: 'troupe', version: '0.1.0' };
