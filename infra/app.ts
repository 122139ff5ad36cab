import { App } from 'aws-cdk-lib';
import { CyborgStack } from './cyborg-stack.ts';
import { addChecks } from './nag.ts';
import { readSettings } from './settings.ts';

const app = new App();
addChecks(app);
const settings = readSettings(app.node);
new CyborgStack(app, `cyborg-${settings.stage}`, settings);
