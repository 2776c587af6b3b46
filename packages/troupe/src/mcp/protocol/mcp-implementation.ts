/** How we introduce ourselves to the other side. */
export const IMPLEMENTATION = { name: 'troupe', version: '0.1.0' };
