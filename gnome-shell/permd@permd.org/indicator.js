export class Indicator { constructor() {} destroy() {} }
