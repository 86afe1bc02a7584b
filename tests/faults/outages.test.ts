import { OUTAGES } from './scenarios.ts';
import { testShortForms } from './short-form.ts';

testShortForms(OUTAGES);
