import type { SourceDocument } from '../../src/document/chunk.ts';
import {
  EmbeddingModelBase,
  textOfInput,
  type EmbeddedBatch,
  type EmbeddingInput,
} from '../../src/embedding/embedding-model-base.ts';
import { SimpleKnowledge } from '../../src/rag/simple-knowledge.ts';
import type { VectorStoreBase } from '../../src/vector/vector-store-base.ts';

class LengthModel extends EmbeddingModelBase {
  constructor() {
    super({ modelName: 'lengths', maxBatch: 8 });
  }

  protected override async embedBatch(inputs: readonly EmbeddingInput[]): Promise<EmbeddedBatch> {
    return { embeddings: inputs.map((input) => Float32Array.from([textOfInput(input).length, 1])) };
  }
}

/** A knowledge base with vectors that need no model. */
export function countingKnowledge(store: VectorStoreBase): SimpleKnowledge {
  return new SimpleKnowledge({ store, embeddingModel: new LengthModel() });
}

/** Documents before and after a change: one stays, one changes in part, one is new, one is gone. */
export function versionOf(version: 'old' | 'new'): readonly SourceDocument[] {
  const isNew = version === 'new';
  return [
    document('stays', 'One stays as it is.', 'So does this.'),
    document('changes', 'The first part stays.', `The second is ${version}.`, `${version} is the third.`),
    isNew ? document('comes', 'This one came.', 'In two parts.') : document('goes', 'This one goes.'),
  ];
}

function document(id: string, ...texts: readonly string[]): SourceDocument {
  return { id, sections: texts.map((text) => ({ content: { type: 'text', text } })) };
}
