/** `mortal-pipeline.ts <kind> <folder> <moment>`: runs a pipeline that saves itself, and kills itself at the n-th moment. Prints whether it came to its end. */
import { flushCompileCache } from 'node:module';

import { pipelineStory, runStory, type PipelineKind } from './mortal-pipeline-story.ts';

const [kind = '', folder = '', last = ''] = process.argv.slice(2);
let moments = 0;
const story = pipelineStory(kind as PipelineKind, folder, () => {
  if (++moments === Number(last)) process.kill(process.pid, 'SIGKILL');
});
story.manager.autoSave();
await runStory(kind as PipelineKind, folder, story);
flushCompileCache();
console.log(moments);
