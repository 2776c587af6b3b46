export { bedrock, type AwsCredentials, type BedrockOptions } from './bedrock.ts';
