export { UntrustedSchemaCheck } from '../../util/untrusted-schema-check.ts';
