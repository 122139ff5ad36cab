// Replaces `@aws-sdk/middleware-endpoint-discovery` in our bundles: a cache of endpoints that
// DynamoDB may give. It is off unless a setting asks for it, and ours never does.

export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => undefined,
  configFileSelector: () => undefined,
  default: undefined,
};

export function resolveEndpointDiscoveryConfig<Input extends object>(input: Input) {
  return Object.assign(input, { endpointDiscoveryEnabled: async () => false });
}
