datasets = [
    dict(
        abbr='LiveMathBench-vdemo-ADD_MUL_MIX-cn_en-limit12-k4_8-r1',
        cot=True,
        dataset_languages=[
            'cn',
            'en',
        ],
        dataset_splits=[
            'ADD',
            'MUL',
            'MIX',
        ],
        eval_cfg=dict(
            evaluator=dict(
                model_name='',
                type='gpassk_opencompass.GPassKEvaluator',
                url=[])),
        infer_cfg=dict(
            inferencer=dict(
                max_out_len=40, type='gpassk_opencompass.SeededGenInferencer'),
            prompt_template=dict(
                template=dict(round=[
                    dict(prompt='{prompt}', role='HUMAN'),
                ]),
                type='opencompass.openicl.icl_prompt_template.PromptTemplate'),
            retriever=dict(
                type='opencompass.openicl.icl_retriever.ZeroRetriever')),
        k=[
            4,
            8,
        ],
        limit=12,
        n=8,
        path='/srv/demo/questions',
        reader_cfg=dict(input_columns=[
            'prompt',
        ], output_column='answer'),
        type='gpassk_opencompass.LiveMathBenchDataset',
        version='demo'),
]
models = [
    dict(
        abbr='demo_t1.0_rs42_l40',
        batch_size=256,
        generation_kwargs=dict(do_sample=True, temperature=1.0),
        max_out_len=40,
        max_seq_len=4096,
        model_kwargs=dict(device_map='cpu', torch_dtype='torch.float32'),
        path='/srv/demo/model',
        random_seed=42,
        run_cfg=dict(num_gpus=0),
        type='gpassk_opencompass.SeededHuggingFace'),
]
summarizer = dict(type='gpassk_opencompass.GPassKSummarizer')
work_dir = '/srv/demo/work/demo_t1-0_rs42_l40@LiveMathBench-vdemo-ADD_MUL_MIX-cn_en-limit12-k4_8-r1/20261126_134111'
