// The agent is shipped as one file without package.json, so its version is repeated here; a unit
// test compares the two.

export const agentVersion = '0.2.0';
