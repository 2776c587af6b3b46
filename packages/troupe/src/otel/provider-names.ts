/** Values of `gen_ai.provider.name` by the start of a vendor's name, in lower case. */
const PROVIDERS: readonly (readonly [start: string, provider: string])[] = [
  ['azure', 'azure.ai.openai'],
  ['openai', 'openai'],
  ['anthropic', 'anthropic'],
  ['gemini', 'gcp.gemini'],
  ['google.vertex', 'gcp.vertex_ai'],
  ['google', 'gcp.gemini'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['dashscope', 'dashscope'],
  ['deepseek', 'deepseek'],
  ['moonshot', 'moonshot'],
  ['mistral', 'mistral_ai'],
  ['cohere', 'cohere'],
  ['groq', 'groq'],
  ['perplexity', 'perplexity'],
  ['xai', 'x_ai'],
  ['ollama', 'ollama'],
];
const OPENAI_HOSTS: readonly (readonly [end: string, provider: string])[] = [
  ['.openai.azure.com', 'azure.ai.openai'],
  ['dashscope.aliyuncs.com', 'dashscope'],
  ['dashscope-intl.aliyuncs.com', 'dashscope'],
  ['deepseek.com', 'deepseek'],
  ['moonshot.cn', 'moonshot'],
  ['moonshot.ai', 'moonshot'],
  ['api.x.ai', 'x_ai'],
];

/** The provider as the conventions name it. OpenAI's API is spoken by many, which their hosts tell apart. */
export function providerName(vendor: string | undefined, host: string | undefined): string {
  const name = vendor?.toLowerCase() ?? '';
  const byHost = OPENAI_HOSTS.find(([end]) => host?.replace(/:\d+$/, '').endsWith(end));
  if (name.startsWith('openai') && byHost !== undefined) return byHost[1];
  return PROVIDERS.find(([start]) => name.startsWith(start))?.[1] ?? (name === '' ? 'unknown' : name);
}
