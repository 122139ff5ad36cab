// The agent travels as one file without package.json, so its version is written here; a unit test
// holds the two together.

export const agentVersion = '0.1.0';
