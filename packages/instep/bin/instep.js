#!/usr/bin/env node
import '../dist/cli/instep.js';
