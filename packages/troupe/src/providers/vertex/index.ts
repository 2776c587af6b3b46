export { vertex, type VertexOptions } from './vertex.ts';
