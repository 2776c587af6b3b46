export { Mem0LongTermMemory, type Mem0Options } from './mem0-long-term-memory.ts';
